"""What all operations of one stack share: its connection, its messages, and what was done already.

The process of a dynamic provider has one `StackSession` and hands it to every operation (`deploy.boundary`), a
process that serves several stacks has one for each. Safe to use from several threads.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trainer_infra.deploy import stack_config
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import ResourceProperties, urn_place
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject

if TYPE_CHECKING:
    from trainer_infra.runs.target import Target


@dataclass(frozen=True, slots=True)
class Connection:
    """How a cluster is reached; None where the stack says nothing."""

    kubeconfig: str | None = None
    context: str | None = None
    remark: str = ""
    """Why it is that of the last `up` and not the one configured now; empty where it is that one."""


class EngineGone(TrainerInfraError):
    """The engine that asked has ended: nothing can be said to the user any more."""


class Messages(Protocol):
    """Messages to the user, beside the resource that they are about; each may raise `EngineGone`."""

    def status(self, message: str) -> None:
        """A message that the next one replaces."""

    def info(self, message: str) -> None:
        """A message that stays."""

    def warn(self, message: str) -> None:
        """Something that worked, but not as asked."""


@dataclass(slots=True)
class StackSession:
    """What the operations of one stack share."""

    messages: Callable[[str], Messages]
    """Where messages about a resource go, by its URN."""
    connection: Connection = field(default_factory=Connection)
    """How the stack's cluster is reached, as the engine says."""
    config_file: Callable[[], Path | None] = lambda: None
    """The file that the engine's command reads in place of the stack's own, if there is one."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set once the user pressed Ctrl-C: nothing is begun or waited for any more."""
    created: set[str] = field(default_factory=set)
    """Uids of what was made in this session, which no delete of it takes away."""
    checked: dict[str, JSONObject] = field(default_factory=dict)
    """Inputs that a policy may change, as a check gave them last, by URN."""
    remedied: dict[str, tuple[JSONObject, JSONObject]] = field(default_factory=dict)
    """The same as they were checked and as a policy changed them, by URN."""
    _remarks: set[str] = field(default_factory=set)
    _savers: dict[str, str] = field(default_factory=dict)
    _clusters: dict[tuple[str | None, str | None, str], "Target"] = field(default_factory=dict)
    _configured: dict[tuple[Connection, str, str], Connection] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def target(self, properties: ResourceProperties, reached: Connection | None = None) -> "Target":
        """The target of a resource, of which nothing is asked yet; `reached` is the engine's connection unless given."""
        if properties.target == targets.LOCAL:
            return targets.open_target(targets.LOCAL)
        known = reached or self.connection
        address = (known.kubeconfig, known.context, properties.engine)
        # Threads that begin together would each connect on their own.
        with self._lock:
            if address not in self._clusters:
                self._clusters[address] = targets.open_cluster(*address)
            return self._clusters[address]

    def settings_now(self, state: ResourceProperties) -> stack_config.Settings | None:
        """What the stack of a state says by its file; None where the command runs in no folder of its program."""
        stack, project = urn_place(state.urn)
        nearest = stack_config.nearest_program(Path.cwd())
        if nearest is None or nearest.name != project:
            return None
        return stack_config.of_stack(nearest, stack, self.config_file())

    def connection_now(self, state: ResourceProperties) -> Connection:
        """How the cluster of a state is reached, also where no program runs and the engine says it."""
        key = (self.connection, *urn_place(state.urn))
        # A secret is opened once, however many resources ask for it.
        with self._lock:
            if key not in self._configured:
                self._configured[key] = self._configured_connection(state)
            return self._configured[key]

    def _configured_connection(self, state: ResourceProperties) -> Connection:
        """That of the stack's file; as the engine says where the file is not what configures it.

        Where a program runs, the engine tells the serving process the configuration itself. `refresh` and
        `destroy` run none: there it tells what the state has, which is that of the last `up`
        (pulumi/pulumi, resource/deploy: a default provider's inputs come from the snapshot).
        """
        given = self.connection
        try:
            found = self.settings_now(state)
            # Every stack of ours names its target or its cluster: what does not is configured elsewhere
            # (Pulumi ESC).
            if found is None or not found.values.keys() & {"target", "kubeconfig", "context"}:
                return given
            return Connection(found.get("kubeconfig"), found.get("context"))
        except NotAvailable as error:
            path = given.kubeconfig or ""
            # A kubeconfig's text has credentials.
            is_path = path and "\n" not in path and not path.lstrip().startswith("{")
            remark = (
                f"the kubeconfig{f' {path}' if is_path else ''} of the last `pulumi up` is used, not what "
                f"is configured now: {error}; to use that, add --run-program"
            )
            return Connection(given.kubeconfig, given.context, remark)

    def new_remarks(self, sentences: Iterable[str]) -> tuple[str, ...]:
        """Those of the sentences that are new in this session: what holds of a cluster is said once."""
        new = tuple(each for each in sentences if each and each not in self._remarks)
        self._remarks.update(new)
        return new

    def other_at(self, place: str, who: str) -> str:
        """Who else saves its checkpoints at a place, of those that were checked in this session; empty for no other."""
        with self._lock:
            self._savers[who] = place
            others = (each for each, at in self._savers.items() if at == place and each != who)
            return next(others, "")
