"""What the engine asks about a runtime resource: check, diff, create, read, update, delete.

Of which of the two kinds a runtime is stands in `kind`. A target that stores no runtimes has
nothing to make: the resource holds the runtime that TrainJobs carry.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.deploy import backend
from trainer_infra.deploy.operations import changes, options, rendering, targets
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.declared_run import read_runtime
from trainer_infra.deploy.operations.place import ResourcePlace, place_of
from trainer_infra.deploy.operations.properties import RuntimeProperties, TrainJobProperties
from trainer_infra.deploy.operations.remediation_through_replace import (
    remember_remediation,
    with_remediation,
)
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_job import TAKE_BACK
from trainer_infra.deploy.operations.values import differing, is_unknown
from trainer_infra.errors import InvalidInput, NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer
from trainer_infra.lifecycle import admission
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.runs.target import RuntimeStore, Target

EXAMPLE: Final = "example"
"""Name of the TrainJob that shows what one on this runtime renders to."""
REPLACING: Final = ("kind", "name", "namespace", "target", "engine")
"""Inputs of which another value makes it another object."""
IN_PLACE: Final = ("spec", "labels", "annotations")
"""Inputs that can be edited."""


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    """Validate, and show what a TrainJob on it renders to."""
    return with_remediation(_checked(olds, news, session), session)


def _checked(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    news = {**news, "owner": backend.with_backend(news["owner"])}
    if problems := (*targets.choice_problems(news), *options.option_problems(news)):
        return CheckAnswer(news, problems)
    if is_unknown(news):
        return CheckAnswer(news)
    given, born = RuntimeProperties(news), RuntimeProperties(olds)
    try:
        runtime = read_runtime(given.wire, manifests.parse_object)
    except InvalidInput as error:
        return CheckAnswer(news, options.named_once(error.problems, news))
    same = born.spec and not differing(REPLACING, olds, news)
    before = read_runtime(born.wire) if same else None
    behaviour = Behaviour(plugin_registry.plugins_with(given.plugins))
    verdict = admission.judge_runtime(runtime, before, behaviour)
    if verdict.problems:
        return CheckAnswer(news, verdict.problems)
    messages, target = session.messages(given.urn), session.target(given)
    if controller := target.controller():
        news = {**news, "controller": controller}
    rendered, remarks = example_objects(news, runtime, target)
    for each in (*verdict.warnings, *remarks, *_missing(given.kind, target.runtimes)):
        messages.warn(each)
    return CheckAnswer({**news, "rendered": rendered})


def example_objects(
    given: JSONObject, runtime: Runtime, target: Target
) -> tuple[JSONObject | None, tuple[str, ...]]:
    """The objects of a TrainJob that says nothing but its runtime, by role, and remarks on them."""
    job = {
        **{key: given[key] for key in ("plugins", "owner", "controller") if key in given},
        "namespace": names.namespace_of(given.get("namespace")),
        "spec": {"runtimeRef": {"name": runtime.metadata.name, "kind": runtime.kind}},
    }
    properties = TrainJobProperties(job)
    try:
        run = rendering.compose_run(properties, EXAMPLE, runtime, target)
    except InvalidInput as error:
        problems = "; ".join(map(str, error.problems))
        return None, (f"no example is shown, a TrainJob on it has to say more: {problems}",)
    impossible = target.problems(run.job.to_wire(), run.objects, properties.controller)
    return rendering.by_role(run.objects, EXAMPLE), (*run.warnings, *map(str, impossible))


def _missing(kind: str, store: RuntimeStore | None) -> Iterator[str]:
    """Why a cluster would not take it; a preview goes on without a cluster."""
    try:
        if store is not None and (sentence := store.missing(kind)):
            yield sentence
    except (NotAvailable, Answer) as error:
        yield str(error)


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Another name or place is another runtime; all else is edited in place."""
    remember_remediation(news, session)
    replaces = differing(REPLACING, olds, news)
    edited = replaces or differing(IN_PLACE, olds, news)
    return Difference(bool(edited or olds.get("drift")), replaces)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Make the object, where there is a place for it."""
    declared = RuntimeProperties(given)
    target = session.target(declared)
    host = target.host(declared.namespace)
    id_ = "/".join(filter(None, (declared.namespace, declared.name)))
    if target.runtimes is None:
        return CreateAnswer(id_, {**given, "host": host})
    stored = target.runtimes.create(declared.wire, declared.owner, adopt=declared.adopts)
    session.created.add(stored["metadata"]["uid"])
    return CreateAnswer(id_, _outputs(declared, host, stored, target.runtimes))


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The runtime as it is now; one of another cluster stays as it was, another owner's is gone."""
    kept = RuntimeProperties(state)
    place, store = _place(kept, session)
    if store is None:
        return Present(state)
    messages = session.messages(kept.urn)
    if place.elsewhere:
        messages.warn(f"{place.elsewhere}; it is kept as it was")
        return Present(state)
    stored = store.get(kept.wire)
    if stored is None or stored["metadata"]["uid"] != kept.uid:
        return None
    if other := store.other_owner(stored, kept.owner):
        messages.warn(f"{kept.shown} belongs to {other} now; {TAKE_BACK}")
        return None
    seen = _outputs(kept, place.host, stored, store)
    if seen.get("drift") == state.get("drift"):
        return Present(seen)
    # The next `up` sees inputs that the program does not have, and repairs.
    return Present(seen, {key: seen[key] for key in seen if key not in changes.OBSERVED})


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Make the object what is declared, also where another writer changed it; the outputs.

    Raises:
        Refused: It is another owner's by now.
    """
    kept, given = RuntimeProperties(olds), RuntimeProperties(news)
    place, store = _place(kept, session)
    if store is None:
        return {**news, "host": kept.host}
    place.required()
    stored = store.get(kept.wire)
    others = [store.other_owner(stored, each.owner) for each in (kept, given)] if stored else []
    if others and all(others):
        raise Refused(f"{kept.shown} belongs to {others[0]} now, so it is not changed; {TAKE_BACK}")
    stored = store.apply(given.wire, given.owner, kept.uid)
    return _outputs(given, place.host, stored, store)


def delete(state: JSONObject, session: StackSession) -> None:
    """Delete the object; TrainJobs keep the runtime that they were born with."""
    kept = RuntimeProperties(state)
    if kept.uid in session.created:
        return
    place, store = _place(kept, session)
    if store is None:
        return
    place.required()
    if sentence := store.delete(kept.wire, kept.owner, kept.uid):
        session.messages(kept.urn).warn(sentence)


def _place(
    kept: RuntimeProperties, session: StackSession
) -> tuple[ResourcePlace, RuntimeStore | None]:
    """Where the object of a state is, and what stores it there."""

    def is_there(target: Target) -> bool:
        stored = target.runtimes.get(kept.wire) if target.runtimes else None
        return stored is not None and stored["metadata"]["uid"] == kept.uid

    place = place_of(kept, is_there, session)
    return place, place.target.runtimes


def _outputs(
    given: RuntimeProperties, host: str, stored: JSONObject, store: RuntimeStore
) -> JSONObject:
    drift = store.drift(given.wire, given.owner, stored)
    return given.seen(drift, uid=stored["metadata"]["uid"], host=host)
