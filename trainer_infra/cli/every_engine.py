"""The runs of a cluster, whichever engine drives them.

The command knows runs by name, and not which engine has one: each verb goes to the one that has it.
What is not about a run is the chosen engine's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from typing_extensions import override

from trainer_infra.cluster.describe import RunDescription
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.cluster.runtimes import ClusterRuntimes
from trainer_infra.errors import NotAvailable, Problem, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Contents, Listing, LogSelection, Owner, Run, RunKey, Submission
from trainer_infra.runs.target import Target


class EveryEngine(Target):
    """A cluster whose runs are those of several engines."""

    def __init__(self, engines: Sequence[ClusterRuns]) -> None:
        self._chosen, *self._others = engines

    @property
    @override
    def runtimes(self) -> ClusterRuntimes:
        return self._chosen.runtimes

    @override
    def host(self, namespace: str = "") -> str:
        return self._chosen.host(namespace)

    @override
    def is_here(self, host: str, namespace: str) -> bool | None:
        return self._chosen.is_here(host, namespace)

    @override
    def answers(self) -> bool:
        return self._chosen.answers()

    @override
    def controller(self) -> str:
        return self._chosen.controller()

    @override
    def problems(
        self,
        job: JSONObject,
        objects: tuple[JSONObject, ...],
        controller: str = "",
    ) -> tuple[Problem, ...]:
        return self._chosen.problems(job, objects, controller)

    @override
    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = ""
    ) -> Behaviour:
        return self._chosen.behaviour(plugins, owner, controller)

    @override
    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        return self._chosen.warnings(objects)

    @override
    def unseen(self, namespace: str) -> str:
        return self._chosen.unseen(namespace)

    @override
    def submit(self, submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
        return self._chosen.submit(submission, adopt=adopt, timeout=timeout)

    @override
    def get(self, namespace: str, name: str, uid: str = "") -> Run | None:
        return self._engine_of(namespace, name, uid).get(namespace, name, uid)

    @override
    def list_runs(self, namespace: str | None = None) -> Listing:
        listings = [self._chosen.list_runs(namespace)]
        for each in self._others:
            with suppress(Answer, NotServed):
                # Who may not read those of another engine has none of its runs.
                listings.append(each.list_runs(namespace))
        runs = sorted(
            (run for each in listings for run in each.runs),
            key=lambda run: (run.namespace, run.name),
        )
        unread = tuple(sentence for each in listings for sentence in each.unread)
        return Listing(tuple(runs), unread)

    @override
    def suspend(self, key: RunKey, value: bool) -> Run:
        return self._engine_of(*key.address).suspend(key, value)

    @override
    def retry(self, key: RunKey) -> Run:
        return self._engine_of(*key.address).retry(key)

    @override
    def update_secrets(self, key: RunKey, data: Mapping[str, str]) -> None:
        self._engine_of(*key.address).update_secrets(key, data)

    @override
    def repair(self, key: RunKey, contents: Contents) -> Run:
        return self._engine_of(*key.address).repair(key, contents)

    @override
    def give(self, key: RunKey, to: Owner) -> None:
        self._engine_of(*key.address).give(key, to)

    @override
    def delete(self, key: RunKey, timeout: float = 60) -> str:
        return self._engine_of(*key.address).delete(key, timeout)

    @override
    def logs(self, key: RunKey, wanted: LogSelection) -> Iterator[tuple[str, str]]:
        return self._engine_of(*key.address).logs(key, wanted)

    @override
    def history(self, key: RunKey) -> tuple[PastReport, ...]:
        return self._engine_of(*key.address).history(key)

    def described(self, namespace: str, name: str) -> RunDescription | None:
        """The run with its history; None when there is none of that name."""
        return self._engine_of(namespace, name).described(namespace, name)

    def collect_unowned(self, namespace: str) -> tuple[str, ...]:
        """Delete what killed submits of any engine left for good; what was deleted."""
        engines = (self._chosen, *self._others)
        return tuple(name for each in engines for name in each.collect_unowned(namespace))

    def _engine_of(self, namespace: str, name: str, uid: str = "") -> ClusterRuns:
        """The engine that has the run; the chosen one where none has."""
        if not self._has(self._chosen.get, namespace, name, uid):
            for each in self._others:
                with suppress(Answer, NotServed, NotAvailable):
                    if self._has(each.get, namespace, name, uid):
                        return each
        return self._chosen

    def _has(
        self, get: Callable[[str, str, str], Run | None], namespace: str, name: str, uid: str
    ) -> bool:
        try:
            return get(namespace, name, uid) is not None
        except Unreadable:
            return True
