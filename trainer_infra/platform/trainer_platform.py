"""The whole platform: Trainer, what it stands on, what queues its jobs, and the runtimes.

The order is that in which one part needs another: JobSet, LeaderWorkerSet and the scheduler, then
Trainer, whose jobs Kueue queues, then runtimes and queues, which their webhooks judge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, Literal, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.deploy.destroy_guard_resource import DestroyGuard, GuardedCluster
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import INTEGER, NAME, inside, shape_problems
from trainer_infra.platform.catalog_content import RuntimeCatalogArgs
from trainer_infra.platform.compatibility import version_problems
from trainer_infra.platform.component import Options, PlatformComponent, declared_keys, without_none
from trainer_infra.platform.controller_arguments import (
    ControllerArgs,
    PodArgs,
    SchedulerArgs,
    pod_problems,
)
from trainer_infra.platform.controller_component import ControllerComponent
from trainer_infra.platform.gang_schedulers import Coscheduling, Volcano
from trainer_infra.platform.job_controllers import JobSetController, LeaderWorkerSetController
from trainer_infra.platform.kueue import Kueue, KueueArgs
from trainer_infra.platform.queues.flavors import ResourceFlavor
from trainer_infra.platform.queues.kueue_queues import WorkloadPriorityClass
from trainer_infra.platform.releases import release_of
from trainer_infra.platform.runtime_catalog import RuntimeCatalog
from trainer_infra.platform.trainer_control_plane import (
    TrainerControlPlane,
    TrainerControlPlaneArgs,
)
from trainer_infra.platform.workspaces.queue import DEFAULT_FLAVOR

PARTS: Final[Mapping[str, tuple[str, type[ControllerComponent]]]] = {
    "jobset": ("JobSet", JobSetController),
    "leader_worker_set": ("LeaderWorkerSet", LeaderWorkerSetController),
    "coscheduling": ("Coscheduling", Coscheduling),
    "volcano": ("Volcano", Volcano),
    "trainer": ("Trainer", TrainerControlPlane),
    "kueue": ("Kueue", Kueue),
}
"""Arguments and the projects that they install, in the order in which one needs another."""
_PRIORITIES: Final = {"type": "object", "propertyNames": NAME, "additionalProperties": INTEGER}
_GANG_RUNTIME: Final[Mapping[str, Callable[[JSONObject], JSONObject]]] = {
    "coscheduling": Coscheduling.gang_runtime,
    "volcano": Volcano.gang_runtime,
}
"""What makes every runtime one of the gang scheduler, after what the program makes of it."""


class TrainerPlatformArgs(TypedDict, total=False):
    """Arguments of a TrainerPlatform."""

    queueing: Literal["kueue", "volcano", "none"]
    """What queues jobs; `kueue` unless given."""
    gang: Literal["coscheduling", "volcano", "none"]
    """What schedules the pods of a job together or not at all, with which all runtimes are installed;
    `none` unless given: Kueue admits a job as a whole, which is enough where nothing else uses the nodes."""
    data_cache: bool
    """Whether `torch-distributed-with-cache` can be used, which needs LeaderWorkerSet; false unless
    given."""
    jobset: Literal[False] | ControllerArgs
    """Arguments of JobSet's controller; False where the cluster has one that you look after."""
    trainer: TrainerControlPlaneArgs
    """Arguments of Trainer's controller."""
    kueue: KueueArgs
    """Arguments of Kueue."""
    leader_worker_set: ControllerArgs
    """Arguments of LeaderWorkerSet's controller."""
    coscheduling: SchedulerArgs
    """Arguments of the scheduler with coscheduling."""
    volcano: SchedulerArgs
    """Arguments of Volcano."""
    controllers: PodArgs
    """What every controller gets that does not say otherwise."""
    kubernetes: str
    """The cluster's version, judged together with those of the parts where it is given."""
    runtimes: Literal[False] | RuntimeCatalogArgs
    """Arguments of the catalog of runtimes, all of which are installed unless given; False leaves it
    out."""
    default_flavor: str | None
    """Name of Kueue's flavor for nodes that are in no pool; `default-flavor` unless given, None for
    none."""
    priorities: Mapping[str, int]
    """Priority classes of Kueue: names and values, the higher first; `low` 0, `normal` 100 and `high`
    1000 unless given."""
    guard: bool | GuardedCluster
    """Whether `destroy` is refused while there are jobs or queues: true unless given."""


class TrainerPlatform(PlatformComponent):
    """An empty cluster becomes a training platform; what uses it depends on it."""

    parts: Mapping[str, ControllerComponent]
    """Its controllers by the name of their argument: `platform.parts["kueue"]`."""
    catalog: RuntimeCatalog | None
    """Its runtimes."""
    flavors: Sequence[str]
    """Names of Kueue's flavors that it makes."""
    versions: pulumi.Output[Mapping[str, str]]
    """Version by project."""

    _arguments = TrainerPlatformArgs
    _examples: ClassVar = {"kueue": 'queueing="none" to leave it out'}

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[TrainerPlatformArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        given: Any = without_none(args)
        chosen = _chosen_parts(given)
        namespaces = {PARTS[part][1].namespace_in(given.get(part) or {}) for part in chosen}
        first = self._owner_check(namespaces)
        self.parts = self._declare_parts(chosen, given, first)
        flavor = args.get("default_flavor", DEFAULT_FLAVOR)
        self.flavors = [flavor] if flavor and "kueue" in self.parts else []
        self._declare_content(given)
        if self._is_guarded:
            self._guard("guard", namespaces)
        known = {PARTS[part][0]: each.version for part, each in self.parts.items()}
        self.versions = pulumi.Output.all(**known)
        self.register_outputs({"versions": self.versions})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        chosen = _chosen_parts(args)
        yield from inside("controllers", pod_problems(args.get("controllers", {})))
        for part, (_, component) in PARTS.items():
            own = without_none(args.get(part) or {})
            if "guard" in own:
                what, fix = "is that of the platform", "write guard= beside it"
                yield Problem(f"{part}.guard", what, fix=fix)
            if own and part not in chosen:
                yield Problem(part, "has arguments, and is not installed", fix=_CHOSEN_BY[part])
            yield from inside(part, component.judge_arguments(own))
        yield from inside("runtimes", RuntimeCatalog.judge_arguments(args.get("runtimes") or {}))
        flavor = args.get("default_flavor", DEFAULT_FLAVOR)
        yield from shape_problems(("default_flavor",), flavor, NAME)
        yield from shape_problems(("priorities",), args.get("priorities", {}), _PRIORITIES)
        # A version that is none was said of its part.
        with suppress(InvalidInput):
            yield from _version_problems(chosen, args)

    def _declare_parts(
        self, chosen: Sequence[str], args: Any, first: Sequence[pulumi.Resource]
    ) -> Mapping[str, ControllerComponent]:
        made: dict[str, ControllerComponent] = {}
        for part in chosen:
            own = without_none(args.get(part) or {})
            given = {**args.get("controllers", {}), **own, "guard": False}
            # Trainer refuses to start without JobSet's kinds, and Kueue looks for Trainer's.
            mine = pulumi.ResourceOptions(parent=self, depends_on=[*first, *made.values()])
            component: Any = PARTS[part][1]
            made[part] = component(f"{self._name}-{part.replace('_', '-')}", opts=mine, **given)
        return made

    def _declare_content(self, args: TrainerPlatformArgs) -> None:
        """What the controllers judge: runtimes, a flavor, priorities."""
        after = pulumi.ResourceOptions(parent=self, depends_on=list(self.parts.values()))
        made: list[pulumi.Resource] = []
        runtimes: Any = args.get("runtimes", {})
        self.catalog = None
        if runtimes is not False:
            own, scheduler = runtimes.get("transform", dict), args.get("gang", "none")
            if gang_runtime := _GANG_RUNTIME.get(scheduler):
                runtimes = {**runtimes, "transform": lambda runtime: gang_runtime(own(runtime))}
            self.catalog = RuntimeCatalog(f"{self._name}-runtimes", opts=after, **runtimes)
            made.append(self.catalog)
        made += [
            ResourceFlavor(f"{self._name}-{each}", name=each, opts=after) for each in self.flavors
        ]
        if "kueue" in self.parts:
            priorities = args.get("priorities", {"low": 0, "normal": 100, "high": 1000})
            made += [
                WorkloadPriorityClass(f"{self._name}-{name}", name=name, value=value, opts=after)
                for name, value in priorities.items()
            ]
        self._content = made

    def protect(self, *others: pulumi.Resource) -> None:
        """Keep what the program declares on the platform, pools for example, while there are jobs or queues.

        `destroy` refuses before it deletes them.
        """
        self._guard("guard-of-all", (), *others)

    def _guard(self, name: str, namespaces: Iterable[str], *others: pulumi.Resource) -> None:
        """One for all parts: none of them goes before everything that it serves is gone."""
        ordered = [self.parts[each] for each in PARTS if each in self.parts]
        own = (name for each in ordered for name in each.own_objects)
        DestroyGuard(
            f"{self._name}:{name}",
            [kind for each in ordered for kind in each.kinds],
            namespaces=namespaces,
            ignored={*own, *declared_keys(self, *others)},
            landmark=self.parts["trainer"].landmark,
            cluster=self._guarded_cluster,
            opts=pulumi.ResourceOptions(
                # What depends on the platform cannot be what a child of it depends on.
                parent=None if others else self,
                depends_on=[*ordered, *self._content, *others],
            ),
        )


def _chosen_parts(args: TrainerPlatformArgs) -> Sequence[str]:
    """The controllers that are installed, in order."""
    choices = {args.get("queueing", "kueue"), args.get("gang", "none")}
    wanted = {
        "jobset": args.get("jobset") is not False,
        "leader_worker_set": args.get("data_cache", False),
        "coscheduling": "coscheduling" in choices,
        "volcano": "volcano" in choices,
        "trainer": True,
        "kueue": "kueue" in choices,
    }
    return [part for part in PARTS if wanted[part]]


_CHOSEN_BY: Final = {
    "leader_worker_set": "write data_cache=True",
    "coscheduling": 'write gang="coscheduling"',
    "volcano": 'write gang="volcano" or queueing="volcano"',
    "kueue": 'write queueing="kueue"',
}
"""What installs a part."""


def _version_problems(chosen: Sequence[str], args: Any) -> Sequence[Problem]:
    versions = {"Kubernetes": args["kubernetes"]} if "kubernetes" in args else {}
    for part in chosen:
        project, own = PARTS[part][0], args.get(part) or {}
        if "manifests" not in own:
            versions[project] = release_of(project, own.get("version")).version
    return version_problems(versions)
