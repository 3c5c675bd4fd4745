"""The phases of a TrainJob and what a plugin is: the one interface for frameworks and schedulers.

A plugin is one `Plugin` value with a function per phase it takes part in; ours are listed in
`plugins/__init__.py`, those of other packages are listed by the user (docs/plugins.md).
`pipeline` runs the phases in the order of the fields below, and within a phase the plugins in
registry order. Names of the phases: reference behaviour 2.1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render.draft import Draft
from trainer_infra.render.observed_objects import ObservedObjects


@dataclass(frozen=True, slots=True)
class Watch:
    """Objects whose events concern TrainJobs."""

    api_version: str
    kind: str
    wakes: Callable[[JSONObject, TrainJob, Runtime], bool] | None = None
    """Whether an event of the object wakes the TrainJob that runs on the runtime; None: it wakes
    the TrainJob that owns the object."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """What starts a Python program that travels with the job, as CustomTrainer's does."""

    command: Callable[[Sequence[str]], tuple[str, ...]]
    """What stands before the program's path, of the names of the variables in spec.trainer.env."""
    jobs: tuple[str, ...] = ()
    """Replicated jobs besides those that train in whose container `node` it starts the program."""
    nodes_begin_at: int = 0
    """Index in the command of what runs on each node, where a step that prepares the node goes: 0 for
    all of it; below 0 counted from the end, as of mpirun, which starts its last words on other nodes."""
    elastic: tuple[str, ...] = ()
    """Options after `command` by which it trains on as many nodes as there are, of `{least}` to `{most}`, in the run
    `{run}`; none where it cannot."""
    elastic_env: Mapping[str, str] = field(default_factory=dict)
    """Variables beside these options, of which a user may give others."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """What a scheduler is chosen by, and what it can be combined with."""

    annotation: str = ""
    """Value of the annotation `trainer-infra.dev/scheduler` that chooses it; empty: none does."""
    pod_group_policy: str = ""
    """Field of spec.podGroupPolicy that chooses it; empty: none does."""
    settings: tuple[str, ...] = ()
    """Annotations that it takes where an annotation chooses it, of `names.JOB_SETTINGS`."""
    scheduler_name: str = ""
    """What its pods have in `schedulerName`; empty: it leaves the field alone, and has no queues."""
    makes_gang: bool = True
    """Whether it places all pods at once or none, which a second scheduler cannot do too."""
    has_queues: bool = False
    """Whether jobs wait in queues of its own, which Kueue knows nothing of."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One framework, scheduler or builder: which drafts it is about and what it does in each phase."""

    name: str
    """The reference's plugin name, for example `Torch`."""
    applies: Callable[[Draft], bool]
    """Whether the plugin takes part for this draft."""
    attach: Callable[[JSONDict, Runtime], JSONDict] | None = None
    """What an engine adds to the TrainJob itself, in wire form, before it is rendered on a runtime."""
    validate: Callable[[Draft], Iterable[Problem]] | None = None
    """CustomValidation: problems of the TrainJob, before anything is enforced."""
    enforce_ml_policy: Callable[[Draft], Draft] | None = None
    """Build 1: node counts, environment and ports of the framework."""
    enforce_pod_group_policy: Callable[[Draft], Draft] | None = None
    """Build 2: labels and annotations of a gang scheduler."""
    enforce_pod_spec: Callable[[Draft], Draft] | None = None
    """Build 3: what every trainer pod gets."""
    build: Callable[[Draft], Iterable[JSONObject]] | None = None
    """Build 5: the objects."""
    complete: Callable[[JSONObject, TrainJob], JSONObject] | None = None
    """What an engine adds to an object of the run, whatever made it, as it is stored."""
    should_write: Callable[[JSONObject, TrainJob, ObservedObjects], bool] | None = None
    """Whether an object that `build` made is written now, given what is there; None for always."""
    status: Callable[[TrainJob, JSONObject, ObservedObjects], JSONObject] | None = None
    """TrainJobStatus: the status so far, and what the plugin makes of it, in wire form."""
    watches: tuple[Watch, ...] = ()
    """WatchExtension: the objects besides TrainJobs whose events a controller must follow."""
    launcher: Callable[[Runtime], Launcher | None] | None = None
    """Of a framework: how a program starts on a runtime; None on one that is not its own."""
    scheduler: Scheduler | None = None
    """Of a scheduler: what `scheduler.py` and the rules must know of it."""


ENFORCING = ("enforce_ml_policy", "enforce_pod_group_policy", "enforce_pod_spec")
"""The phases that change the draft, in order."""
