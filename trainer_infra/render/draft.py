"""The frozen value that travels through the phases: a Draft with one PodSet per replicated job.

`resolve` makes the first one; plugins return changed copies; the JobSet plugin turns the last one
into an object. Rules: reference behaviour 2.2 to 2.4.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from trainer_infra import names
from trainer_infra.api.runtime import MLPolicy, PodGroupPolicy, Runtime
from trainer_infra.api.trainjob import Trainer, TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import ALL, Deviation


@dataclass(frozen=True, slots=True)
class Container:
    """What plugins may change of one container; everything else stays in the template."""

    name: str
    image: str | None = None
    command: tuple[str, ...] | None = None
    env: tuple[JSONObject, ...] = ()
    ports: tuple[JSONObject, ...] = ()
    volume_mounts: tuple[JSONObject, ...] = ()
    resources: JSONObject | None = None
    """Resources after patches and the resourcesPerNode merge; read only."""

    def plus(
        self, *, env: Iterable[JSONObject] = (), mounts: Iterable[JSONObject] = ()
    ) -> "Container":
        """A copy with these, too: variables are the same by their names, mounts by their paths."""
        every = upsert(
            self.volume_mounts, mounts, lambda old, new: bool(old["mountPath"] == new["mountPath"])
        )
        return replace(self, env=upsert_env(self.env, env), volume_mounts=every)


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of one replicated job."""

    name: str
    """Name of the replicated job."""
    ancestor: str | None
    """Value of the ancestor label on the Job template; None when it has none."""
    count: int
    """Pods of the job: becomes parallelism and completions."""
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[JSONObject, ...] = ()
    labels: JSONObject = field(default_factory=dict)
    """Labels that plugins add to the pod template."""
    annotations: JSONObject = field(default_factory=dict)
    """Annotations that plugins add to the pod template."""
    scheduler_name: str | None = None
    """Scheduler of the pods; None leaves the template's."""

    def container(self, name: str) -> Container | None:
        """The regular container of that name."""
        return next((each for each in self.containers if each.name == name), None)

    def with_container(self, name: str, change: Callable[[Container], Container]) -> "PodSet":
        """A copy in which the regular container of that name is changed."""
        containers = tuple(change(each) if each.name == name else each for each in self.containers)
        return replace(self, containers=containers)


@dataclass(frozen=True, slots=True)
class Draft:
    """A TrainJob on its way to objects."""

    job: TrainJob
    runtime: Runtime
    spec: JSONObject
    """JobSetSpec of the runtime after runtimePatches and the resourcesPerNode merge."""
    pod_sets: tuple[PodSet, ...]
    """One per replicated job, in template order."""
    labels: JSONObject
    """Labels of the JobSet: the runtime's, then each patch's."""
    annotations: JSONObject
    command: tuple[str, ...] | None
    """Entrypoint of the trainer: the TrainJob's until a plugin decides otherwise; None leaves the
    runtime's."""
    args: tuple[str, ...] | None
    """Arguments of the trainer, as `command`."""
    deviations: frozenset[Deviation] = ALL
    """Where ours is better than the reference; in all else it is rendered exactly as there."""

    @property
    def trainer(self) -> PodSet | None:
        """The first pod set with the ancestor `trainer`."""
        for each in self.pod_sets:  # a loop, because next() on a generator takes twice as long
            if each.ancestor == names.TRAINER:
                return each
        return None

    @property
    def trainer_spec(self) -> Trainer:
        """The TrainJob's spec.trainer; an empty one where it has none."""
        return self.job.spec.trainer or Trainer()

    @property
    def ml_policy(self) -> MLPolicy:
        """The runtime's mlPolicy; an empty one where it has none."""
        return self.runtime.spec.ml_policy or MLPolicy()

    @property
    def pod_group_policy(self) -> PodGroupPolicy:
        """The runtime's podGroupPolicy; an empty one where it has none."""
        return self.runtime.spec.pod_group_policy or PodGroupPolicy()

    def ours(self, deviation: Deviation) -> bool:
        """Whether that deviation holds; otherwise the reference is followed in it."""
        return deviation in self.deviations

    def setting(self, key: str) -> str | None:
        """An annotation of the runtime, where plugins have their settings.

        One of `names.JOB_SETTINGS` may stand on the TrainJob, which wins. Others may not: a run is
        known by its spec and its runtime, so that an annotation changes nothing of it.
        """
        of_job = self.job.metadata.annotations if key in names.JOB_SETTINGS else None
        for annotations in (of_job, self.runtime.metadata.annotations):
            if annotations and annotations.get(key) is not None:
                return annotations[key]
        return None

    def with_pod_set(self, name: str, change: Callable[[PodSet], PodSet]) -> "Draft":
        """A copy in which the pod set of that name is changed."""
        pod_sets = tuple(change(each) if each.name == name else each for each in self.pod_sets)
        return replace(self, pod_sets=pod_sets)


def upsert(
    items: Iterable[JSONObject],
    new: Iterable[JSONObject],
    same: Callable[[JSONObject, JSONObject], bool],
) -> tuple[JSONObject, ...]:
    """`items` in which each of `new` replaces the first one it is the `same` as, or is appended."""
    result = list(items)
    for item in new:
        place = next((i for i, old in enumerate(result) if same(old, item)), None)
        if place is None:
            result.append(item)
        else:
            result[place] = item
    return tuple(result)


def upsert_env(items: Iterable[JSONObject], new: Iterable[JSONObject]) -> tuple[JSONObject, ...]:
    """Environment variables are the same when their names are."""
    new = tuple(new)
    if not new:
        return tuple(items)
    merged = {item["name"]: item for item in items}
    merged.update((item["name"], item) for item in new)
    return tuple(merged.values())


def upsert_volumes(
    items: Iterable[JSONObject], new: Iterable[JSONObject]
) -> tuple[JSONObject, ...]:
    """Volumes are the same when their names are."""
    return upsert(items, new, lambda old, item: bool(old["name"] == item["name"]))


def upsert_ports(
    items: Iterable[JSONObject], new: Iterable[JSONObject], *, unnamed_are_same: bool = False
) -> tuple[JSONObject, ...]:
    """Ports are the same when their numbers are, or their names where both have one.

    With `unnamed_are_same` two unnamed ports are the same, as in reference behaviour 2.4, which
    corrupts a container with two of them (Q17).
    """
    return upsert(items, new, _same_number_or_unnamed if unnamed_are_same else _same_port)


def _same_port(old: JSONObject, new: JSONObject) -> bool:
    named = bool(old.get("name")) and old.get("name") == new.get("name")
    return named or old.get("containerPort") == new.get("containerPort")


def _same_number_or_unnamed(old: JSONObject, new: JSONObject) -> bool:
    same = (old.get("name") or "") == (new.get("name") or "")
    return same or old.get("containerPort") == new.get("containerPort")
