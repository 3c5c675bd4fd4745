"""Runs in a cluster: the facade of engine `provider`.

Called by `deploy` and `cli`, whose threads share one connection in the background loop of
`kube.loop`. What a run is stands in `record`; each verb has a file of its own.
"""

import atexit
import threading
import time
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from typing_extensions import override

from trainer_infra.cluster import identity, kueue_objects, rights, served_kinds
from trainer_infra.cluster.kueue_objects import Queue
from trainer_infra.cluster.provider import (
    adopt,
    behaviour,
    delete,
    describe,
    observed_run,
    record_lookup,
    repair,
    retry,
    run_lookup,
    unsupported_fields,
)
from trainer_infra.cluster.provider import submit as run_submission
from trainer_infra.cluster.provider import suspend as run_suspension
from trainer_infra.cluster.provider.describe import RunDescription
from trainer_infra.cluster.runtimes import ClusterRuntimes
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.cluster.session import Session
from trainer_infra.errors import NotAvailable, Problem, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.refusals import Answer, Unreachable
from trainer_infra.kube.retry import Patience
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs import sentences
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


class Cluster(Target):
    """Runs in the cluster of a kubeconfig's context; connects when first asked."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        self._address = (kubeconfig, context)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._asking = threading.Lock()
        self._served: tuple[ServedKinds | None, float] = (None, 0.0)

    @override
    def host(self, namespace: str = "") -> str:
        session = self._here()
        loop.run_in_loop(served_kinds.complete_identity(session, namespace))
        return session.host

    @override
    def is_here(self, host: str, namespace: str) -> bool | None:
        now = replace(
            identity.identity_from_text(self.host(namespace)), server=self._here().client.server
        )
        return identity.identity_from_text(host).same(now)

    @property
    @override
    def runtimes(self) -> ClusterRuntimes:
        return ClusterRuntimes(lambda what: self._ask(lambda session: what(session.client)))

    def served(self) -> ServedKinds:
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
        self, job: JSONObject, objects: tuple[JSONObject, ...], packages: Sequence[str] = ()
    ) -> tuple[Problem, ...]:
        return (
            *unsupported_fields.unsupported_fields(job, objects),
            *unsupported_fields.unsupported_packages(packages),
        )

    @override
    def behaviour(self, plugins: tuple[Plugin, ...], owner: Owner) -> Behaviour:
        """What renders the objects as this engine writes them; makes no request."""
        return behaviour.provider_behaviour(plugins, owner)

    @override
    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        """What the cluster lacks, or that it does not answer."""
        found = self.served()
        queues = served_kinds.queues_of(objects)
        missing = self._missing(queues) if found.kueue and queues else frozenset()
        return served_kinds.served_warnings(found, objects, missing)

    @override
    def unseen(self, namespace: str) -> str:
        return self._ask(lambda session: session.rights.unseen(namespace))

    @override
    def submit(self, submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
        return self._change(lambda session: _submitted(session, submission, adopt, timeout))

    @override
    def get(self, namespace: str, name: str, uid: str = "") -> Run | None:
        return self._ask(lambda session: run_lookup.at_one(session, namespace, name, uid))

    @override
    def list_runs(self, namespace: str | None = None) -> Listing:
        return self._ask(lambda session: run_lookup.at_all(session, namespace or ""))

    def described(self, namespace: str, name: str) -> RunDescription | None:
        """The run with its history; None when there is none of that name."""
        return self._ask(lambda session: describe.describe_run(session, namespace, name))

    @override
    def suspend(self, key: RunKey, value: bool) -> Run:
        self._change(lambda session: _suspended(session, key, value=value))
        return self._known(key)

    @override
    def retry(self, key: RunKey) -> Run:
        run = self.get(*key.address)
        if run is None:
            raise NotAvailable(f"there is no run {key.namespace}/{key.name} {self._here().host}")
        if not sentences.may_be_retried(run):
            raise Refused(sentences.no_retry(run))
        found = replace(key, uid=run.uid)
        self._change(
            lambda session: retry.retry_run(session.client, found, RETRIED_WITHIN, session.rights)
        )
        return self._known(found)

    @override
    def update_secrets(self, key: RunKey, data: Mapping[str, str]) -> None:
        self._change(lambda session: repair.replace_secrets(session.client, key, data))

    @override
    def repair(self, key: RunKey, contents: Contents) -> Run:
        self._change(lambda session: _repaired(session, key, contents))
        return self._known(key)

    @override
    def give(self, key: RunKey, to: Owner) -> None:
        self._change(lambda session: _given(session, key, to))

    @override
    def delete(self, key: RunKey, timeout: float = 60) -> str:
        return self._change(
            lambda session: delete.delete_run(session.client, key, timeout, session.rights)
        )

    @override
    def logs(self, key: RunKey, wanted: LogSelection) -> Iterator[tuple[str, str]]:
        source = self._ask(lambda session: run_lookup.log_lines(session, key, wanted))
        return loop.iterate_in_loop(source)

    def close(self) -> None:
        """End every connection; another call makes a new one."""
        atexit.unregister(self.close)
        with self._lock:
            if self._session is not None:
                loop.run_in_loop(self._session.close())
            self._session = None

    def _look_what_is_served(self) -> ServedKinds:
        try:
            session = self._here(Patience(first_contact=SERVED_WITHIN))
            return loop.run_in_loop(
                served_kinds.what_is_served(session.client, session.host), SERVED_WITHIN
            )
        except (NotAvailable, Answer) as error:
            return served_kinds.not_asked(error)
        except TimeoutError:
            return served_kinds.not_asked(NotAvailable(f"nothing came within {SERVED_WITHIN:g} s"))

    def _missing(self, queues: Iterable[Queue]) -> Collection[Queue]:
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
            raise NotAvailable(f"run {key.namespace}/{key.name} was deleted meanwhile")
        return run

    def _ask(self, what: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        session = self._here()
        return loop.run_in_loop(what(session))

    def _change(self, what: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        session = self._here()
        try:
            return loop.run_in_loop(what(session))
        finally:
            session.cache.forget()

    def _here(self, patience: Patience | None = None) -> Session:
        """The connection, made once, or `NotAvailable`; None is the usual patience."""
        with self._lock:
            if self._session is None:
                self._session = loop.run_in_loop(_connected(self._address, patience))
                # Callers keep it for as long as their process lives.
                atexit.register(self.close)
            return self._session


async def _connected(address: tuple[str | None, str | None], patience: Patience | None) -> Session:
    client = await http.connect_client(*address, patience)
    try:
        return Session(client, str(await served_kinds.identify_cluster(client)))
    except BaseException:
        await client.close()
        raise


async def _submitted(session: Session, submission: Submission, adopt: bool, within: float) -> Run:
    metadata = submission.job["metadata"]
    namespace = metadata["namespace"]
    wanted = await rights.to_submit(session.client, submission.objects)
    await session.rights.require(namespace, wanted, f"submit run {namespace}/{metadata['name']}")
    await served_kinds.complete_identity(session, namespace)
    made = await run_submission.submit_run(
        session.client, submission, take_over=adopt, within=within
    )
    # A namespace that is new shows its authorities a moment later.
    await served_kinds.complete_identity(session, namespace)
    if made.jobset is not None:
        seen = Observation(made.jobset)
        return observed_run.current_run(made.record, seen, session.host, datetime.now(UTC))
    session.cache.forget()
    run = await run_lookup.at_one(session, made.record.namespace, made.record.name)
    if run is None:
        raise NotAvailable(f"run {made.record.namespace}/{made.record.name} was deleted meanwhile")
    return run


async def _suspended(session: Session, key: RunKey, *, value: bool) -> None:
    what = f"{'suspend' if value else 'resume'} run {key.namespace}/{key.name}"
    await session.rights.require(key.namespace, rights.CHANGE, what)
    await run_suspension.suspend_run(session.client, key, value=value)


async def _repaired(session: Session, key: RunKey, known: Contents) -> None:
    what = f"repair run {key.namespace}/{key.name}"
    await session.rights.require(key.namespace, rights.CHANGE, what)
    await repair.repair_run(session.client, key, known)


async def _given(session: Session, key: RunKey, to: Owner) -> None:
    what = f"give run {key.namespace}/{key.name} its owner's new name"
    await session.rights.require(key.namespace, rights.CHANGE, what)
    await adopt.give_owner(
        session.client, await record_lookup.present_record(session.client, key), to
    )
