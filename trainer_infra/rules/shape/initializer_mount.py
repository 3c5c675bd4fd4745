"""initializer-mount: what initializers fetch is on a volume that the training nodes mount.

Facts: reference behaviour 5.1 and 7.1 (the volume's name, the folders that the
reference's images write to). The data cache keeps nothing in a volume.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs
from trainer_infra.rules.supply_chain import image

_VOLUME: Final = names.INITIALIZER_VOLUME
_WORKSPACE: Final = "/workspace"
_FOLDERS: Final = {
    names.DATASET_INITIALIZER: f"{_WORKSPACE}/dataset",
    names.MODEL_INITIALIZER: f"{_WORKSPACE}/model",
}
"""Where the reference's initializer images write, by their name."""
_CACHE: Final = "cache://"
_CACHE_IMAGE: Final = "CACHE_IMAGE"


@dataclass(frozen=True, slots=True)
class _Place:
    """A replicated job that may have to share the volume."""

    spec: Value
    """The JobSet's spec."""
    job: Value
    """The job."""
    is_filled: Callable[[], bool]
    """Whether an initializer of the JobSet puts files on the volume; asked once for all jobs."""

    @property
    def initializer(self) -> str:
        """Which initializer it is; empty for another job.

        Raises:
            UnseenValue: It is not known.
        """
        step = jobs.step_label(self.job).text()
        return step if step in pods.INITIALIZERS else ""


def _places(subject: Subject) -> Iterator[_Place]:
    for spec in pods.jobsets(subject):
        is_filled = cache(partial(_is_filled, spec))
        yield from (_Place(spec, job, is_filled) for job in spec["replicatedJobs"].items())


def _check(place: _Place, _context: Context[Parameters]) -> Iterator[Finding]:
    container = _sharing(place)
    if container is None:
        return
    mounts = container["volumeMounts"]
    mount = jobs.item_named(mounts, _VOLUME)
    if mount is not None:
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
    if step not in jobs.CONTAINERS or name == names.LAUNCHER:
        return None
    if not (_fills(place.job) if place.initializer else place.is_filled()):
        return None
    return jobs.item_named(jobs.pod_spec(place.job)["containers"], jobs.CONTAINERS[step])


def _is_filled(spec: Value) -> bool:
    found = spec["replicatedJobs"].items()
    return any(_fills(each) for each in found if jobs.step_label(each).text() in pods.INITIALIZERS)


def _fills(job: Value) -> bool:
    """Whether the initializer puts files on a volume: all do, except for the data cache."""
    container = jobs.item_named(jobs.pod_spec(job)["containers"], jobs.step_label(job).text())
    if container is None or not container["env"].is_there():
        return container is not None
    env = {each["name"].text(): each["value"] for each in container["env"].items()}
    uri = env.get(names.STORAGE_URI)
    return _CACHE_IMAGE not in env and not (uri is not None and uri.text().startswith(_CACHE))


def _of_volume(place: _Place) -> Iterator[Finding]:
    """There is such a volume, and it outlives the pod."""
    volumes = jobs.pod_spec(place.job)["volumes"]
    volume = jobs.item_named(volumes, _VOLUME)
    if volume is not None:
        if volume["emptyDir"].is_there():
            fix = "use a claim: volumeClaimPolicies of the JobSet, or persistentVolumeClaim"
            what = "is a volume of one pod alone: no other pod sees what is on it"
            yield volume["emptyDir"].finding(what, None, fix)
    elif not _has_claim(place.spec):
        fix = f"add a template {_VOLUME!r} to volumeClaimPolicies, or a volume to the pod"
        yield volumes.finding(f"has no volume {_VOLUME!r}, which a container mounts", None, fix)


def _has_claim(spec: Value) -> bool:
    """Whether the JobSet makes the volume."""
    policies = spec["volumeClaimPolicies"]
    return policies.is_there() and any(
        template.at("metadata", "name").text() == _VOLUME
        for policy in policies.items()
        if policy["templates"].is_there()
        for template in policy["templates"].items()
    )


def _of_folder(place: _Place, container: Value, mount: Value) -> Iterator[Finding]:
    """The reference's image writes into the volume."""
    folder = _FOLDERS.get(image.name(container["image"].text()))
    mounted = mount["mountPath"]
    if not place.initializer or folder is None or not mounted.text():
        return
    if not f"{folder}/".startswith(f"{mounted.text().rstrip('/')}/"):
        what = f"is not where the image writes: to {folder}"
        yield mounted.finding(what, mounted.text(), f"mount it at {_WORKSPACE}")


RULE: Final = Rule(
    id="initializer-mount",
    title="What initializers fetch is on a volume that the nodes mount",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "storage"),
    why=(
        "The model and the data are fetched into a pod that is gone when training starts; since "
        "v2.3 TrainJobs with spec.initializer are refused where the mount is missing."
    ),
    fix="Share one claim, named `initializer` and mounted at /workspace, as the catalog does.",
    places=_places,
    check=_check,
)
