"""Runs in a cluster: the facade of every engine.

Where an engine keeps its runs is its `RunStore`; each verb has a file of its own. A command knows runs by
name, and not which engine has one: with the stores of other engines, each verb goes to the store that has
the run. The threads of callers share one connection, in the background loop of `kube.loop`.
"""

import atexit
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

from typing_extensions import override

from trainer_infra.cluster import (
    adopt,
    delete,
    describe,
    kueue_objects,
    repair,
    retry,
    run_lookup,
    served_kinds,
    submit,
    suspend,
    unowned_objects,
)
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.cluster.runtimes import ClusterRuntimes
from trainer_infra.cluster.session import Session
from trainer_infra.errors import NotAvailable, Problem, Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, NotServed, Unreachable
from trainer_infra.kube.request_retry import Patience
from trainer_infra.runs import sentences
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Contents, Listing, LogSelection, Owner, Run, RunKey, Submission
from trainer_infra.runs.target import Target
from trainer_infra.runs.view import Observation

T = TypeVar("T")

SERVED_WITHIN: Final = 3.0
"""Seconds that a cluster gets to say what it serves."""
SERVED_FOR: Final = 30.0
"""Seconds for which that is known."""
RETRIED_WITHIN: Final = 60.0
"""Seconds that the pods of a failed run get to end before it runs again."""


class ClusterRuns(Target):
    """Runs in the cluster of a kubeconfig's context; connects when first asked."""

    store: ClassVar[RunStore]
    """Where the engine keeps its runs."""

    @abstractmethod
    def remark(self, found: served_kinds.ServedKinds) -> str:
        """What is worth knowing of this engine on such a cluster; or empty."""

    def __init__(
        self,
        kubeconfig: str | None = None,
        context: str | None = None,
        others: Sequence[RunStore] = (),
    ) -> None:
        """Connect later to a kubeconfig's context, the usual ones where they are None.

        The other stores have runs of the cluster too, which are known by name.
        """
        self._address = (kubeconfig, context)
        self._others = others
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._asking = threading.Lock()
        self._served: tuple[served_kinds.ServedKinds | None, float] = (None, 0.0)

    @override
    def host(self, namespace: str = "") -> str:
        session = self._here()
        loop.run_in_loop(served_kinds.complete_identity(session, namespace))
        return session.host

    @override
    def is_here(self, host: str, namespace: str) -> bool | None:
        now = replace(
            served_kinds.identity_from_text(self.host(namespace)), server=self._here().client.server
        )
        return served_kinds.identity_from_text(host).same(now)

    @property
    @override
    def runtimes(self) -> ClusterRuntimes:
        return ClusterRuntimes(lambda what: self._ask(lambda session: what(session.client)))

    @override
    def answers(self) -> bool:
        return self.served().reachable

    def served(self) -> served_kinds.ServedKinds:
        """What the cluster has of what this engine needs, also when it cannot be reached.

        Asked once for many previews, and given up soon: a preview goes on without a cluster.
        """
        with self._asking:
            known, at = self._served
            if known is None or time.monotonic() - at > SERVED_FOR:
                known = self._look_what_is_served()
                self._served = (known, time.monotonic())
            return known

    @override
    def problems(
        self, job: JSONObject, objects: tuple[JSONObject, ...], controller: str = ""
    ) -> tuple[Problem, ...]:
        return self.store.problems(job, objects, controller)

    @override
    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        """What the cluster lacks, or that it does not answer."""
        found = self.served()
        queues = served_kinds.queues_of(objects)
        missing = self.missing_queues(queues) if found.kueue and queues else frozenset()
        said = (self.remark(found), *served_kinds.served_warnings(found, objects, missing))
        return tuple(filter(None, said))

    @override
    def unseen(self, namespace: str) -> str:
        return self._ask(lambda session: session.rights.unseen(namespace))

    @override
    def submit(self, submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
        return self._change(lambda session: _submitted(session, submission, adopt, timeout))

    @override
    def get(self, namespace: str, name: str, uid: str = "") -> Run | None:
        key = RunKey(namespace, name, uid)
        return self._ask(lambda session: run_lookup.at_one(session, key), key)

    @override
    def list_runs(self, namespace: str | None = None) -> Listing:
        return self._ask(
            lambda session: run_lookup.at_every(session, self._others, namespace or "")
        )

    def collect_unowned(self, namespace: str) -> tuple[str, ...]:
        """Delete what killed submits left for good in a namespace, or with an empty one in all; what was deleted."""
        if all(each.holder_first for each in (self.store, *self._others)):
            return ()
        with suppress(NotServed):
            return self._change(lambda session: _unowned_collected(session, namespace))
        return ()

    def described(self, key: RunKey) -> describe.RunDescription | None:
        """The run with its history; None when there is none of that name."""
        return self._ask(lambda session: describe.describe_run(session, key), key)

    @override
    def suspend(self, key: RunKey, value: bool) -> Run:
        what = f"{'suspend' if value else 'resume'} {key.shown()}"
        self._change_existing(key, what, partial(suspend.suspend_run, value=value))
        return self._known(key)

    @override
    def retry(self, key: RunKey) -> Run:
        run = self.get(*key.address)
        if run is None:
            raise NotAvailable(f"there is no {key.shown()} {self._here().host}")
        if not sentences.may_be_retried(run):
            raise Refused(sentences.no_retry(run))
        found = replace(key, uid=run.uid)
        self._change(lambda session: retry.retry_run(session, found, RETRIED_WITHIN), found)
        return self._known(found)

    @override
    def update_secrets(self, key: RunKey, data: Mapping[str, str]) -> None:
        self._change(
            lambda session: repair.replace_secrets(session.client, session.store, key, data), key
        )

    @override
    def repair(self, key: RunKey, contents: Contents) -> Run:
        what = f"repair {key.shown()}"
        self._change_existing(key, what, partial(repair.repair_run, known=contents))
        return self._known(key)

    @override
    def give(self, key: RunKey, to: Owner) -> None:
        what = f"give {key.shown()} its owner's new name"
        self._change_existing(key, what, partial(adopt.give_run, to=to))

    @override
    def delete(self, key: RunKey, timeout: float = 60) -> str:
        return self._change(
            lambda session: delete.delete_run(
                session.client, session.store, key, timeout, session.rights
            ),
            key,
        )

    @override
    def logs(self, key: RunKey, wanted: LogSelection) -> Iterator[tuple[str, str]]:
        source = self._ask(lambda session: run_lookup.log_lines(session, key, wanted), key)
        return loop.iterate_in_loop(source)

    @override
    def history(self, key: RunKey) -> tuple[PastReport, ...]:
        return self._ask(lambda session: run_lookup.past_reports(session, key), key)

    def close(self) -> None:
        """End every connection; another call makes a new one."""
        atexit.unregister(self.close)
        with self._lock:
            if self._session is not None:
                loop.run_in_loop(self._session.close())
            self._session = None

    def _look_what_is_served(self) -> served_kinds.ServedKinds:
        try:
            session = self._here(Patience(first_contact=SERVED_WITHIN))
            return loop.run_in_loop(
                served_kinds.what_is_served(session.client, session.host), SERVED_WITHIN
            )
        except (NotAvailable, Answer) as error:
            return served_kinds.not_asked(error)
        except TimeoutError:
            return served_kinds.not_asked(NotAvailable(f"nothing came within {SERVED_WITHIN:g} s"))

    def missing_queues(
        self, queues: Iterable[kueue_objects.Queue]
    ) -> Collection[kueue_objects.Queue]:
        """Those queues that are known not to be there; given up soon, as `served`."""
        session = self._here()
        try:
            missing = kueue_objects.without_local_queue(session.client, session.cache, queues)
            return loop.run_in_loop(missing, SERVED_WITHIN)
        except (Unreachable, TimeoutError):
            return frozenset()

    def _known(self, key: RunKey) -> Run:
        run = self.get(*key.address)
        if run is None:
            raise NotAvailable(f"{key.shown()} was deleted meanwhile")
        return run

    def _ask(
        self, what: Callable[[Session], Coroutine[Any, Any, T]], key: RunKey | None = None
    ) -> T:
        """What the cluster says; about a run, what it says by the store that has it."""
        session = self._here()

        async def asked() -> T:
            return await what(
                await run_lookup.session_of(session, self._others, key) if key else session
            )

        return loop.run_in_loop(asked())

    def _change(
        self, what: Callable[[Session], Coroutine[Any, Any, T]], key: RunKey | None = None
    ) -> T:
        async def changed(session: Session) -> T:
            try:
                return await what(session)
            finally:
                session.cache.forget()

        return self._ask(changed, key)

    def _change_existing(
        self,
        key: RunKey,
        what: str,
        do: Callable[[KubeClient, RunStore, RunKey], Coroutine[Any, Any, None]],
    ) -> None:
        """Change a run once it is known that this account may do all of it."""

        async def change(session: Session) -> None:
            await session.rights.require(key.namespace, session.store.change, what)
            await do(session.client, session.store, key)

        self._change(change, key)

    def _here(self, patience: Patience | None = None) -> Session:
        """The connection, made once, or `NotAvailable`; None is the usual patience."""
        with self._lock:
            if self._session is None:
                self._session = loop.run_in_loop(_connected(self._address, self.store, patience))
                # Callers keep it for as long as their process lives.
                atexit.register(self.close)
            return self._session


async def _connected(
    address: tuple[str | None, str | None], store: RunStore, patience: Patience | None
) -> Session:
    client = await http.connect_client(*address, patience)
    try:
        return Session(client, str(await served_kinds.identify_cluster(client)), store)
    except BaseException:
        await client.close()
        raise


async def _submitted(
    session: Session, submission: Submission, take_over: bool, within: float
) -> Run:
    client, store, key = session.client, session.store, submission.key
    await served_kinds.complete_identity(session, key.namespace)
    parts = store.parts(submission)
    await session.rights.require_submit(key, (parts.holder, *parts.owned), "submit")
    made = await submit.submit_run(client, store, submission, take_over=take_over, within=within)
    if not store.holder_first:
        with suppress(TrainerInfraError):
            # What others left is not a concern of this run.
            await _unowned_collected(session, key.namespace)
    if made.jobset is not None:
        seen = Observation(made.jobset)
        run = store.current_run(made.record, seen, session.host, datetime.now(UTC))
    else:
        session.cache.forget()
        found = await run_lookup.at_one(session, key)
        if found is None:
            raise NotAvailable(f"{key.shown()} was deleted meanwhile")
        run = found
    # A namespace that is new shows its authorities a moment later.
    await served_kinds.complete_identity(session, key.namespace)
    return replace(run, host=session.host)


async def _unowned_collected(session: Session, namespace: str) -> tuple[str, ...]:
    return await unowned_objects.collect_unowned(session.client, namespace, datetime.now(UTC))
