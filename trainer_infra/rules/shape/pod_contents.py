"""What stands in the pods of a job: images, metadata, and what initializers fetched."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from trainer_infra import names
from trainer_infra.render import pod_metadata
from trainer_infra.render.runtime_ref import CONTAINERS
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.value import ABSENT

_VOLUME: Final = names.INITIALIZER_VOLUME
_WORKSPACE: Final = "/workspace"
_FOLDERS: Final = {
    names.DATASET_INITIALIZER: f"{_WORKSPACE}/dataset",
    names.MODEL_INITIALIZER: f"{_WORKSPACE}/model",
}
"""Where the reference's initializer images write, by their name."""
_CACHE: Final = "cache://"


@dataclass(frozen=True, slots=True)
class _Place:
    """A replicated job that may have to share the volume."""

    spec: Value
    """The JobSet's spec."""
    job: Value
    is_filled: Callable[[], bool]
    """Whether an initializer of the JobSet puts files on the volume; asked once for all jobs."""

    @property
    def initializer(self) -> str:
        """Which initializer it is; empty for another job."""
        step = jobs.step_label(self.job).text()
        return step if step in pods.INITIALIZERS else ""


def _places_of_mounts(subject: Subject) -> Iterator[_Place]:
    for spec in pods.jobsets(subject):
        is_filled = cache(partial(_is_filled, spec))
        yield from (_Place(spec, job, is_filled) for job in spec["replicatedJobs"].items())


def _check_mount(place: _Place, _context: Context[Parameters]) -> Iterator[Finding]:
    container = _sharing(place)
    if container is None:
        return
    mounts = container["volumeMounts"]
    mount = lookup.item_named(mounts, _VOLUME)
    if mount is not None:
        if place.initializer and mount["readOnly"].flag():
            what = "keeps the initializer from writing what it fetches"
            yield mount["readOnly"].finding(what, True, "take it away")
        yield from _of_volume(place)
        yield from _of_folder(place, container, mount)
    else:
        who = "what it fetches is lost" if place.initializer else "it cannot see what was fetched"
        fix = f"mount the volume {_VOLUME!r} at {_WORKSPACE}"
        yield mounts.finding(f"has no mount of the volume {_VOLUME!r}: {who}", None, fix)


def _sharing(place: _Place) -> Value | None:
    """The container that must mount the volume; None where none must.

    With MPI it is that of the nodes, which have no label: the launcher may only start them.
    """
    name = place.job["name"].text()
    step = names.TRAINER if name == names.NODE else jobs.step_label(place.job).text()
    if step not in CONTAINERS or name == names.LAUNCHER:
        return None
    if not (_fills(place.job) if place.initializer else place.is_filled()):
        return None
    return lookup.item_named(jobs.pod_spec(place.job)["containers"], CONTAINERS[step])


def _is_filled(spec: Value) -> bool:
    found = spec["replicatedJobs"].items()
    return any(_fills(each) for each in found if jobs.step_label(each).text() in pods.INITIALIZERS)


def _fills(job: Value) -> bool:
    """Whether the initializer puts files on a volume: all do, except for the data cache."""
    container = lookup.item_named(jobs.pod_spec(job)["containers"], jobs.step_label(job).text())
    if container is None or not container["env"].is_there():
        return container is not None
    env = {each["name"].text(): each["value"] for each in container["env"].items()}
    uri = env.get(names.STORAGE_URI)
    return images.CACHE_IMAGE not in env and not (uri is not None and uri.text().startswith(_CACHE))


def _of_volume(place: _Place) -> Iterator[Finding]:
    """There is such a volume, and it outlives the pod."""
    volumes = jobs.pod_spec(place.job)["volumes"]
    volume = lookup.item_named(volumes, _VOLUME)
    if volume is not None:
        for own in (volume[kind] for kind in ("emptyDir", "ephemeral") if volume[kind].is_there()):
            fix = "use a claim: volumeClaimPolicies of the JobSet, or persistentVolumeClaim"
            what = "is a volume of one pod alone: no other pod sees what is on it"
            yield own.finding(what, None, fix)
    elif all(name != _VOLUME for name, _ in lookup.claim_templates(place.spec)):
        fix = f"add a template {_VOLUME!r} to volumeClaimPolicies, or a volume to the pod"
        yield volumes.finding(f"has no volume {_VOLUME!r}, which a container mounts", None, fix)


def _of_folder(place: _Place, container: Value, mount: Value) -> Iterator[Finding]:
    """The reference's image writes into the volume."""
    folder = _FOLDERS.get(images.image_name(container["image"].text()))
    mounted = mount["mountPath"]
    if not place.initializer or folder is None or not mounted.text():
        return
    if not f"{folder}/".startswith(f"{mounted.text().rstrip('/')}/"):
        what = f"is not where the image writes: to {folder}"
        yield mounted.finding(what, mounted.text(), f"mount it at {_WORKSPACE}")


INITIALIZER_MOUNT: Final = Rule(
    id="initializer-mount",
    title="Nodes must mount the volume that initializers write to",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "storage"),
    why=(
        "The model and the data are downloaded into a pod that is gone when training starts. Since "
        "v2.3 the trainer rejects TrainJobs with spec.initializer if the mount is missing."
    ),
    fix="Share one claim named `initializer`, mounted at /workspace, as the catalog does.",
    places=_places_of_mounts,
    check=_check_mount,
)
"""Facts: reference behaviour 5.1 and 7.1 (the volume's name, the folders that the
reference's images write to). The data cache keeps nothing in a volume.
"""


def _places_of_images(subject: Subject) -> Iterator[PodContainer | Value]:
    yield from pods.containers(subject)
    mounted = (each["image"] for each in pods.volumes(subject))
    yield from (each for each in mounted if each.raw is not ABSENT)


def _check_image(place: PodContainer | Value, context: Context[Parameters]) -> Iterator[Finding]:
    if isinstance(place, Value):
        if not place["reference"].text():
            yield place["reference"].finding("is missing", None, "name the image of the volume")
        return
    image, kind = place.value["image"], context.subject.kind
    if image.is_there() and image.raw != "":
        return
    name = place.value["name"].text()
    trains = jobs.step_label(place.pod.job).text() == names.TRAINER and place.is_node
    if trains and kind == names.TRAIN_JOB:
        image = context.subject.object.at("spec", "trainer", "image")
    if not (trains and kind in names.RUNTIMES) and not image.text():
        yield image.finding("is missing", None, f"name the image of container {name!r}")


IMAGE_PRESENT: Final = Rule(
    id="image-present",
    title="Every container and every image volume must have an image",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS,
    tags=("shape", "images"),
    why=(
        "The schemas do not require an image in templates, so the object is accepted; the API "
        "server then rejects every pod, and the job waits forever."
    ),
    fix="Set the container's image, or spec.trainer.image for the nodes that train.",
    places=_places_of_images,
    check=_check_image,
)


_FIELDS: Final = ("labels", "annotations")
_IN_RUNTIME: Final = "write it in spec.template"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A label or an annotation."""

    value: Value
    field: str
    key: str
    is_of_jobset: bool
    """Whether it stands in the metadata of a JobSet."""


def _places_of_metadata(subject: Subject) -> Iterator[_Entry]:
    written = subject.object
    places = [(written["metadata"], False)]
    if subject.kind in names.RUNTIMES:
        template = written.at("spec", "template")
        places.append((template["metadata"], True))
        jobs = template.at("spec", "replicatedJobs").items()
        places += [(each.at("template", "metadata"), False) for each in jobs]
    for metadata, is_of_jobset in places:
        for field in _FIELDS:
            for key, value in metadata[field].fields():
                yield _Entry(value, field, key, is_of_jobset)


def _check_metadata(entry: _Entry, context: Context[Parameters]) -> Iterator[Finding]:
    subject, key = context.subject, entry.key
    start = pod_metadata.PATCH if subject.kind == names.TRAIN_JOB else _IN_RUNTIME
    if pod_metadata.is_of_pods(key):
        templates = (each.template for each in pods.pods_of(subject))
        if not any(each.at("metadata", entry.field, key).is_there() for each in templates):
            fix = f"{start}.{pod_metadata.OF_POD}.{entry.field}"
            yield entry.value.finding(pod_metadata.WHAT, None, fix)
    elif pod_metadata.is_of_jobsets(key) and not entry.is_of_jobset:
        fix = f"{start}.metadata.{entry.field}"
        yield entry.value.finding(pod_metadata.WHAT_OF_JOBSETS, None, fix)


POD_METADATA: Final = Rule(
    id="pod-metadata",
    title="Labels and annotations meant for pods must be in the pod template",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "labels"),
    why=(
        "Service meshes, autoscalers and log collectors read the pods: a sidecar that you switched "
        "off runs anyway and the run never ends, or an autoscaler removes the node."
    ),
    fix="Set them in the pod template's metadata; for a TrainJob, in spec.runtimePatches.",
    places=_places_of_metadata,
    check=_check_metadata,
)
