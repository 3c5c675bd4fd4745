"""Where runs live: what every driver without a controller offers, and `deploy` and `cli` ask of it.

`local.runs` (processes of this machine) and `cluster.runs.ClusterRuns` (pods, engine
`provider`) keep this protocol. All methods are synchronous and safe to call from several threads. A
verb whose key says whose the run has to be changes nothing of one that is another owner's by now.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Contents, Listing, LogSelection, Owner, Run, RunKey, Submission


class RuntimeStore(Protocol):
    """Runtimes as objects of a place, with labels that say whose they are.

    All that asks the place raises NotAvailable where it cannot be reached or does not know the kind,
    and Refused where it says no.
    """

    def missing(self, kind: str, /) -> str:
        """What to do when the place does not know the kind; empty when it does."""

    def create(self, runtime: JSONObject, owner: Owner, /, *, adopt: bool) -> JSONObject:
        """The runtime as stored; one that its owner made before is completed.

        Raises:
            InvalidInput: The place finds problems in it.
            Refused: One of that name is another owner's.
        """

    def apply(self, runtime: JSONObject, owner: Owner, uid: str, /) -> JSONObject:
        """That very runtime with every field as it is declared, whatever writer changed it.

        Raises:
            InvalidInput: The place finds problems in it.
            Refused: It is another runtime by now.
        """

    def get(self, runtime: JSONObject, /) -> JSONObject | None:
        """The runtime of that kind, namespace and name as it is stored now; None when there is none."""

    def other_owner(self, stored: JSONObject, owner: Owner, /) -> str:
        """Whose a stored runtime is by now, when it is another owner's; else empty."""

    def drift(self, runtime: JSONObject, owner: Owner, stored: JSONObject, /) -> Mapping[str, str]:
        """Fields that we declare and another writer changed, as `Run.drift` has them."""

    def delete(self, runtime: JSONObject, owner: Owner, uid: str, /) -> str:
        """Delete that very runtime; a sentence where it stays, or empty. Gone already is fine."""


class Target(Protocol):
    """Runs of one place.

    A verb that takes a key raises NotAvailable where there is no such run, or the place cannot be
    reached, and Refused where it is another owner's by now.
    """

    @property
    def runtimes(self) -> RuntimeStore | None:
        """Where the place stores runtimes; None where only TrainJobs carry theirs."""

    def host(self, namespace: str = "") -> str:
        """The place itself, as a Run has it: the machine's name, or what tells clusters apart.

        A cluster says more in a namespace of the user's runs, to who may read no other.

        Raises:
            NotAvailable: The cluster cannot be reached, or does not know the user.
        """

    def is_here(self, host: str, namespace: str) -> bool | None:
        """Whether a `host` that was kept is this place; None where that cannot be told.

        Raises:
            NotAvailable: The cluster cannot be reached, or does not know the user.
        """

    def answers(self) -> bool:
        """Whether the place can be asked now; given up soon, for a preview goes on without it."""

    def controller(self) -> str:
        """Which controller renders a TrainJob that the place stores: `builtin` or `upstream`.

        Empty where none does: the place renders it itself. One that does not answer now, or has none as
        yet, will have `builtin`, unless a program says otherwise.
        """

    def problems(
        self, job: JSONObject, objects: tuple[JSONObject, ...], controller: str = "", /
    ) -> tuple[Problem, ...]:
        """What the place cannot run of a TrainJob and its objects; makes no request."""

    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = "", /
    ) -> Behaviour:
        """What renders a TrainJob as the place stores it; makes no request, so that a preview is exact.

        The plugins are those of every target, and `controller` is what that said when the run was declared.
        """

    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        """What is worth knowing before they are submitted, for example a port in use."""

    def unseen(self, namespace: str, /) -> str:
        """What this account may not read of the namespace's runs, as a warning sentence; or empty."""

    def submit(self, submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
        """Begin a run and return; never waits for training.

        The same content of the same owner is the same run. When it fails half way, what was made
        is removed.

        Raises:
            InvalidInput: The place cannot run it; has every problem.
            Refused: A run or an object of that name is another owner's, or has other content.
            NotAvailable: The place cannot be reached.
        """

    def get(self, namespace: str, name: str, uid: str = "") -> Run | None:
        """The run as it is now, whatever its owner; None when it is gone or has another uid.

        Raises:
            Unreadable: What is kept of it is damaged.
        """

    def list_runs(self, namespace: str | None = None) -> Listing:
        """All runs of the place or of a namespace, and what cannot be read there."""

    def suspend(self, key: RunKey, value: bool, /) -> Run:
        """Suspend or resume a run."""

    def retry(self, key: RunKey, /) -> Run:
        """Run a run again that failed or was lost: the same run, as it was submitted.

        Raises:
            Refused: It has not failed.
        """

    def update_secrets(self, key: RunKey, data: Mapping[str, str], /) -> None:
        """Replace the secret values; pods that run keep the old ones."""

    def repair(self, key: RunKey, contents: Contents, /) -> Run:
        """Write again every field of ours that another writer changed (`Run.drift`), with these contents.

        Raises:
            NotAvailable: An object is gone whose contents are kept nowhere.
            Refused: An object of that name is another owner's by now.
        """

    def give(self, key: RunKey, to: Owner, /) -> None:
        """Make a run another owner's, with everything that it has."""

    def delete(self, key: RunKey, /, timeout: float = 60) -> str:
        """End a run and remove what is left of it; a sentence about what was left, or empty.

        Gone already, or another run of that name, is fine; one of another owner is left alone. With
        a uid it goes also where what is kept of it is damaged.
        """

    def logs(self, key: RunKey, wanted: LogSelection, /) -> Iterator[tuple[str, str]]:
        """The lines of a run's pods as (pod, line); with `follow` until the run has ended.

        Raises:
            NotAvailable: It never had such a pod.
        """

    def history(self, key: RunKey, /) -> tuple[PastReport, ...]:
        """What the run's training reported so far, in order of time: of a long run not every report.

        At least the last report of each node that made one, once that is all that is left.
        """
