"""What the engine asks about a runtime resource: check, diff, create, read, update, delete.

Called by `provider`, for TrainingRuntime and ClusterTrainingRuntime, with properties as JSON; which
of the two it is stands in `kind`. On target local there is nothing to make: the resource holds the
runtime that TrainJobs carry. On Kubernetes it is an object (`cluster.runtimes`).
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.cluster import runtimes
from trainer_infra.deploy import boundary, inputs, place, targets
from trainer_infra.deploy.boundary import Messages
from trainer_infra.deploy.connection import Connection
from trainer_infra.deploy.place import Place
from trainer_infra.deploy.train_job import TAKE_BACK
from trainer_infra.errors import InvalidInput, NotAvailable, Refused
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer
from trainer_infra.lifecycle import admission
from trainer_infra.lifecycle.admission import Verdict
from trainer_infra.render import listed
from trainer_infra.render.behaviour import Behaviour

Properties = dict[str, Any]
JSON = Mapping[str, Any]
T = TypeVar("T")

EXAMPLE: Final = "example"
"""Name of the TrainJob that shows what one on this runtime renders to."""
REPLACING: Final = ("kind", "name", "namespace", "target", "engine")
"""Inputs of which another value makes it another object."""
IN_PLACE: Final = ("spec", "labels", "annotations")
"""Inputs that can be edited."""

_CREATED: Final[set[str]] = set()
"""Uids that create gave back in this process, which serves one operation of the engine."""


def check(olds: Properties, news: Properties) -> CheckResult:
    """Validate, and show what a TrainJob on it renders to."""
    news = inputs.owned(news)
    if chosen := (*targets.problems(news), *inputs.options(news)):
        return CheckResult(news, boundary.failures(chosen))
    if boundary.unknown(news):
        return CheckResult(news, [])
    try:
        runtime = inputs.runtime_of({"runtime": wire(news)})
    except InvalidInput as error:
        return CheckResult(news, boundary.failures(inputs.named_once(error.problems, news)))
    verdict = _judged(runtime, news, olds)
    if verdict.problems:
        return CheckResult(news, boundary.failures(verdict.problems))
    messages = Messages(news["owner"]["urn"])
    rendered, remarks = example(news, runtime)
    for each in (*verdict.warnings, *remarks, *_missing(news)):
        messages.warn(each)
    return CheckResult({**news, "rendered": rendered}, [])


def wire(given: JSON) -> dict[str, Any]:
    """The runtime object that the properties say."""
    keys = ("name", "namespace", "labels", "annotations")
    metadata = {key: given[key] for key in keys if given.get(key)}
    return {
        "apiVersion": names.API_VERSION,
        "kind": given["kind"],
        "metadata": metadata,
        "spec": given.get("spec") or {},
    }


def _judged(runtime: Runtime, news: JSON, olds: JSON) -> Verdict:
    """What an API server would say of it; of an edit also what cannot be edited."""
    behaviour = Behaviour(listed.registry(news.get("plugins") or ()))
    same = olds.get("spec") and all(olds.get(key) == news.get(key) for key in REPLACING)
    return admission.judge_runtime(
        runtime, inputs.runtime_of({"runtime": wire(olds)}) if same else None, behaviour
    )


def example(given: JSON, runtime: Runtime) -> tuple[Properties | None, tuple[str, ...]]:
    """The objects of a TrainJob that says nothing but its runtime, by role, and remarks on them."""
    job = {
        **{key: given[key] for key in ("target", "engine", "plugins", "owner") if key in given},
        "namespace": given.get("namespace", "default"),
        "spec": {"runtimeRef": {"name": runtime.metadata.name, "kind": runtime.kind}},
    }
    try:
        run = inputs.composed(job, EXAMPLE, runtime)
    except InvalidInput as error:
        said = "; ".join(str(each) for each in error.problems)
        return None, (f"no example is shown, a TrainJob on it has to say more: {said}",)
    cannot = targets.of(given).problems(run.job.to_wire(), run.objects)
    return inputs.by_role(run.objects, EXAMPLE), (*run.warnings, *map(str, cannot))


def _missing(given: JSON) -> Iterator[str]:
    """Why a cluster would not take it; a preview goes on without a cluster."""
    if given["target"] == targets.KUBERNETES:
        try:
            if said := _ask(
                targets.told(), lambda client: runtimes.missing_kind(client, given["kind"])
            ):
                yield said
        except (NotAvailable, Answer) as error:
            yield str(error)


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Another name or place is another runtime; all else is edited in place."""
    replaces = [key for key in REPLACING if olds.get(key) != news.get(key)]
    edited = any(olds.get(key) != news.get(key) for key in IN_PLACE)
    return DiffResult(
        changes=bool(replaces) or edited or bool(olds.get("drift")),
        replaces=replaces,
        delete_before_replace=False,
    )


def create(given: Properties) -> CreateResult:
    """Make the object, where there is a cluster."""
    host = targets.of(given).host(str(given.get("namespace") or ""))
    id_ = "/".join(filter(None, (given.get("namespace"), given["name"])))
    if given["target"] == targets.LOCAL:
        return CreateResult(id_, {**given, "host": host})
    adopt = bool(given.get("adopt"))
    labelled = _labelled(given)
    made = _ask(
        targets.told(), lambda client: runtimes.create_runtime(client, labelled, adopt=adopt)
    )
    _CREATED.add(made["metadata"]["uid"])
    return CreateResult(id_, _outputs(given, host, made))


def read(id_: str, state: Properties) -> ReadResult:
    """The runtime as it is now; one of another cluster stays as it was, another owner's is gone."""
    if state["target"] == targets.LOCAL:
        return ReadResult(id_, state)
    its = _place(state)
    if its.elsewhere:
        Messages(state["owner"]["urn"]).warn(f"{its.elsewhere}; it is kept as it was")
        return ReadResult(id_, state)
    there = _live(state)
    if there is None or there["metadata"]["uid"] != state["uid"]:
        return ReadResult("", {})
    if whose := runtimes.taken_by(there, inputs.owner_of(state)):
        said = f"{_shown(state)} belongs to {whose} now; {TAKE_BACK}"
        Messages(state["owner"]["urn"]).warn(said)
        return ReadResult("", {})
    seen = _outputs(state, its.host, there)
    if seen.get("drift") == state.get("drift"):
        return ReadResult(id_, seen)
    # The next `up` sees inputs that the program does not have, and repairs.
    return ReadResult(id_, seen, {key: seen[key] for key in seen if key not in inputs.OBSERVED})


def update(olds: Properties, news: Properties) -> UpdateResult:
    """Make the object what is declared, also where somebody else changed it.

    Raises:
        Refused: It is another owner's by now.
    """
    if olds["target"] == targets.LOCAL:
        return UpdateResult({**news, "host": olds["host"]})
    its = _place(olds)
    its.required()
    there = _live(olds)
    owners = (inputs.owner_of(olds), inputs.owner_of(news))
    if there and all(runtimes.taken_by(there, each) for each in owners):
        whose = runtimes.taken_by(there, owners[0])
        raise Refused(f"{_shown(olds)} belongs to {whose} now, so it is not changed; {TAKE_BACK}")
    labelled = _labelled(news)
    made = _ask(
        targets.configured(olds),
        lambda client: runtimes.apply_runtime(client, labelled, olds["uid"]),
    )
    return UpdateResult(_outputs(news, its.host, made))


def delete(state: Properties) -> None:
    """Delete the object; TrainJobs keep the runtime that they were born with."""
    if state["target"] == targets.LOCAL or state["uid"] in _CREATED:
        return
    _place(state).required()
    owner = inputs.owner_of(state)
    said = _ask(
        targets.configured(state),
        lambda client: runtimes.delete_runtime(client, wire(state), state["uid"], owner),
    )
    if said:
        Messages(state["owner"]["urn"]).warn(said)


def _shown(state: JSON) -> str:
    return f"{state['kind']} {state['name']}"


def _place(state: JSON) -> Place:
    return place.of(state, _shown(state), lambda _: _is_there(state))


def _is_there(state: JSON) -> bool:
    there = _live(state)
    return there is not None and there["metadata"]["uid"] == state["uid"]


def _live(state: JSON) -> JSON | None:
    return _ask(
        targets.configured(state), lambda client: runtimes.live_runtime(client, wire(state))
    )


def _labelled(given: JSON) -> JSON:
    return runtimes.with_owner(wire(given), inputs.owner_of(given))


def _outputs(given: JSON, host: str, there: JSON) -> Properties:
    kept = {key: given[key] for key in given if key != "drift"}
    drift = dict(runtimes.runtime_drift(_labelled(given), there))
    seen = {"uid": there["metadata"]["uid"], "host": host}
    return kept | seen | ({"drift": drift} if drift else {})


def _ask(found: Connection, what: Callable[[KubeClient], Awaitable[T]]) -> T:
    async def answer(client: KubeClient) -> T:
        return await what(client)

    return loop.run(answer(_client(found.kubeconfig, found.context)))


@lru_cache(maxsize=1)
def _client(kubeconfig: str | None, context: str | None) -> KubeClient:
    return loop.run(http.connect(kubeconfig, context))
