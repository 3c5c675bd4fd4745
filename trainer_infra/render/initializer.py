"""spec.initializer: the runtime must have the job, the container and the mount it needs.

Rules and messages: reference behaviour 5.1.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import DatasetInitializer, ModelInitializer
from trainer_infra.errors import Problem
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft, PodSet

FIX: Final = (
    "use a runtime that has it, such as torch-distributed-with-initializers, "
    "or with_initializers of this one"
)


def initializer_problems(draft: Draft) -> Iterable[Problem]:
    """What the runtime lacks for the dataset and the model initializer."""
    source = draft.job.spec.initializer
    if source is None:
        return
    if source.dataset is not None:
        # The data cache keeps nothing in a volume (Q11).
        uri = source.dataset.storage_uri or ""
        needs_mount = not (draft.ours(Deviation.Q11) and uri.startswith("cache://"))
        yield from _missing(draft, names.DATASET_INITIALIZER, "datasetConfig", needs_mount)
    if source.model is not None:
        yield from _missing(draft, names.MODEL_INITIALIZER, "modelConfig", needs_mount=True)
    if draft.ours(Deviation.STORAGE_URI):
        yield from _said_twice("dataset", source.dataset)
        yield from _said_twice("model", source.model)


def _said_twice(
    name: str, source: DatasetInitializer | ModelInitializer | None
) -> Iterable[Problem]:
    """Variables that would be fetched in place of what storageUri says."""
    uri = source.storage_uri if source else None
    for index, each in enumerate((source.env if source and uri else None) or ()):
        if each["name"] == names.STORAGE_URI and each.get("value") != uri:
            yield Problem(
                f"spec.initializer.{name}.env[{index}]",
                f"STORAGE_URI would be fetched, and not spec.initializer.{name}.storageUri",
                got=each.get("value"),
                fix="write the address in one of them",
            )


def _missing(draft: Draft, name: str, config: str, needs_mount: bool) -> Iterable[Problem]:
    runtime = f"runtime {draft.runtime.metadata.name!r}"
    pod_set = next((each for each in draft.pod_sets if each.name == name), None)
    container = pod_set.container(name) if pod_set else None
    if pod_set is None:
        what = f"must have {name} job when trainJob is configured with input {config}"
    elif container is None and not _is_init_container(draft, pod_set, name):
        what = f"must have container with name - {name} in the {name} job"
    elif needs_mount and not any(
        mount.get("name") == names.INITIALIZER_VOLUME
        for mount in (container.volume_mounts if container else ())
    ):
        what = (
            f"must have volumeMount with name - {names.INITIALIZER_VOLUME} "
            f"in container {name} of the {name} job"
        )
    else:
        return
    yield Problem("spec.runtimeRef", what, fix=f"{FIX}; {runtime} does not")


def _is_init_container(draft: Draft, pod_set: PodSet, name: str) -> bool:
    """Whether the reference takes an init container for the initializer; it then misses a mount."""
    return not draft.ours(Deviation.Q11) and any(
        each.name == name for each in pod_set.init_containers
    )
