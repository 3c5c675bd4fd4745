"""What the engine asks about a TrainJob: check, diff, create, read, update, delete.

Called by `provider.TrainJobProvider` with properties as JSON. Decisions are in `inputs` and
`changes`; the run itself is its target's. Rules: design rules 1 to 5.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from trainer_infra.deploy import boundary, changes, digests, gate, inputs, place, targets
from trainer_infra.deploy.boundary import Messages
from trainer_infra.deploy.place import Place
from trainer_infra.errors import (
    InvalidInput,
    NotAvailable,
    Refused,
    TrainerInfraError,
    Unreadable,
)
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Contents, Owner, Run, Submission, owner_to_json
from trainer_infra.runs.target import Target
from trainer_infra.trainers.code import Code, config_map

Properties = dict[str, Any]
JSON = Mapping[str, Any]

TAKE_BACK: Final = (
    "`pulumi refresh` forgets it here, and `pulumi up` with adopt=True after that takes it back"
)

KEEP: Final = 'to keep the run, add ignore_changes=["runtime"] to its options'

_CREATED: Final[set[str]] = set()
"""Uids that create gave back in this process, which serves one operation of the engine."""


def check(olds: Properties, news: Properties) -> CheckResult:
    """Validate, and fill in name, runtime and rendering."""
    news = inputs.owned(news)
    chosen = tuple(targets.problems(news))
    problems = (*chosen, *inputs.options(news))
    if chosen or boundary.unknown(news):
        return CheckResult(news, boundary.failures(problems))
    try:
        found = inputs.checked(news, olds)
    except InvalidInput as error:
        found_too = inputs.named_once(error.problems, news)
        return CheckResult(news, boundary.failures((*problems, *found_too)))
    if not problems:
        _notices(found, news, olds)
    return CheckResult(found.inputs, boundary.failures(problems))


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Nothing, an update in place, or a new run."""
    found = changes.of_train_job(olds, news)
    if found.changes:
        boundary.DETAIL.paths = changes.shown(olds, news, found.replaces or ())
    return found


def create(given: Properties) -> CreateResult:
    """Submit the run exactly as it was shown."""
    submission = submitted(given)
    run = targets.of(given).submit(submission, adopt=bool(given.get("adopt")))
    _CREATED.add(run.uid)
    Messages(given["owner"]["urn"]).info(sentences.submitted_line([(run.namespace, run.name)]))
    return CreateResult(f"{run.namespace}/{run.name}", digests.kept(outputs(given, run)))


def submitted(given: Properties) -> Submission:
    """What a target is asked to run.

    Raises:
        Refused: The rendering is not that of the specification.
    """
    composition = inputs.composed(given, given["name"], inputs.runtime_of(given))
    objects = inputs.by_role(composition.objects, given["name"])
    if boundary.plain(objects) != given["rendered"]:
        raise Refused(
            f"TrainJob {given['name']}: rendered is not what its spec renders to; "
            "change the spec instead"
        )
    if given.get("maxParallel"):
        # The gate of the batch starts it when it is its turn, as Kueue does with what it queues.
        held = {**given, "spec": {**given["spec"], "suspend": True}}
        composition = inputs.composed(held, given["name"], inputs.runtime_of(given))
    return Submission(
        job=composition.job.to_wire(),
        runtime=composition.runtime.to_wire(),
        objects=composition.objects,
        secret_data=given.get("secretData") or {},
        packages=tuple((given.get("code") or {}).get("packages") or ()),
        owner=inputs.owner_of(given),
        content=inputs.content(given, composition.runtime),
        plugins=tuple(given.get("plugins") or ()),
    )


def read(id_: str, state: Properties) -> ReadResult:
    """The run as it is now; one that cannot be looked at stays as it was last seen.

    A run that another owner took over is theirs, and gone for this one.
    """
    its = _place(state)
    messages = Messages(state["owner"]["urn"])
    if its.elsewhere:
        messages.warn(f"{its.elsewhere}; it is kept as it was last seen")
        return ReadResult(id_, {**state, "lastSeen": f"unknown (on {state['host']})"})
    try:
        run = its.target.get(state["namespace"], state["name"], state["uid"])
    except Unreadable as error:
        messages.warn(f"{state['name']} stays as it was last seen: {error}")
        return ReadResult(id_, state)
    if run is not None and not run.owner.is_same(inputs.owner_of(state)):
        messages.warn(f"{sentences.taken_by(run)}; {TAKE_BACK}")
        run = None
    if run is None:
        return ReadResult("", {})
    if said := sentences.failed_briefly(run):
        messages.warn(said)
    return ReadResult(id_, {**outputs(state, run), "host": its.host})


def update(olds: Properties, news: Properties) -> UpdateResult:
    """Bring the run to what the program says, in place."""
    return UpdateResult(digests.kept(updated(olds, news)))


def updated(olds: Properties, news: Properties) -> Properties:
    """What is known of a run once it was suspended or resumed, got secret values, or was repaired.

    Raises:
        NotAvailable: The run is gone, or cannot be reached.
        Refused: It is another owner's by now.
    """
    its = _place(olds)
    target = its.required()
    key = (olds["namespace"], olds["name"], olds["uid"])
    gone = NotAvailable(f"TrainJob {olds['name']} is gone; run `pulumi refresh`")
    run = target.get(*key)
    if run is None:
        raise gone
    owner = _kept(run, olds, news)
    if news.get("secretData") != olds.get("secretData"):
        target.update_secrets(*key, news.get("secretData") or {}, owner=run.owner)
    if olds.get("drift"):
        target.repair(*key, _contents(news), owner=run.owner)
    wanted = bool(news["spec"].get("suspend"))
    if wanted != bool(olds["spec"].get("suspend")):
        target.suspend(*key, wanted, owner=run.owner)
    if owner != run.owner:
        target.give(*key, owner, owner=run.owner)
    run = target.get(*key)
    if run is None:
        raise gone
    seen = outputs({**news, "owner": owner_to_json(owner)}, run)
    return {**seen, "host": its.host}


def _kept(run: Run, olds: Properties, news: Properties) -> Owner:
    """Whose the run is after an update: the stack or the resource may have another name by now.

    The state had its old name until this update; one that was killed wrote the new one already.

    Raises:
        Refused: It is another owner's.
    """
    before, after = inputs.owner_of(olds), inputs.owner_of(news)
    if not (run.owner.is_same(before) or run.owner.is_same(after)):
        raise Refused(f"{sentences.taken_by(run)}, so nothing of it is changed; {TAKE_BACK}")
    return after if after.backend else replace(after, backend=run.owner.backend)


def _contents(given: Properties) -> Contents:
    """What is in objects of the run, of which the record has only the names."""
    code = Code.from_wire(given["code"]) if given.get("code") else None
    config_maps = (config_map(given, code),) if code else ()
    return Contents(given.get("secretData") or {}, config_maps)


def delete(state: Properties) -> None:
    """End the run and remove what is left of it; gone already, or another owner's now, is fine.

    A forced replacement of an unchanged job (`pulumi up --replace`) creates first, which finds this
    very run, and then deletes the original: the run stays.
    """
    target = _place(state).required()
    messages = Messages(state["owner"]["urn"])
    if state["uid"] in _CREATED:
        messages.info(
            f"{state['name']} is kept: the same content is the same run; raise attempt to run it again"
        )
        return
    timeout = float(state.get("deleteTimeout", 60))
    key = (state["namespace"], state["name"], state["uid"])
    warning = target.delete(*key, timeout, owner=inputs.owner_of(state))
    if warning:
        messages.warn(warning)
    if state.get("outputs"):
        messages.info(
            f"the outputs of {state['name']} are kept: {sentences.metrics_line(state['outputs'])}"
        )


def _place(state: Properties) -> Place:
    key = (state["namespace"], state["name"], state["uid"])
    return place.of(state, f"TrainJob {state['name']}", lambda target: is_found(target, *key))


def is_found(target: Target, namespace: str, name: str, uid: str) -> bool:
    """Whether the very run is there, readable or not."""
    try:
        return target.get(namespace, name, uid) is not None
    except Unreadable:
        return True


def outputs(given: Mapping[str, Any], run: Run) -> Properties:
    """What is known of a run: its inputs, and how it was seen."""
    kept = {key: given[key] for key in given if key != "drift"}
    seen = {"uid": run.uid, "host": run.host, "lastSeen": gate.phase(run)}
    drift = {"drift": dict(run.drift)} if run.drift else {}
    return {**kept, **seen, **drift, "outputs": given.get("outputs") or {}}


def failure_of(given: JSON) -> str:
    """Of a run that nobody waits for, that it failed; empty where that is not known."""
    try:
        run = targets.of(given).get(given["namespace"], given["name"])
    except TrainerInfraError:
        # A preview goes on without its place; what is wrong with it is said of what is new.
        return ""
    is_its = run is not None and run.owner.is_same(inputs.owner_of(given))
    return sentences.failed_briefly(run) if run is not None and is_its else ""


def _notices(found: inputs.Checked, given: Properties, olds: Properties) -> None:
    """What is worth knowing at preview though nothing is wrong."""
    messages = Messages(given["owner"]["urn"])
    if inputs.unchanged(given, olds):
        if kept := inputs.born_with(given, olds):
            messages.info(kept)
        if "waitFor" not in given and (said := failure_of(found.inputs)):
            messages.warn(said)
        return
    if inputs.is_of_another_runtime(given, olds):
        name = found.inputs["runtime"]["metadata"]["name"]
        messages.info(f"its runtime {name} has changed, so it runs again; {KEEP}")
    of_target = targets.news_of(given, tuple(found.inputs["rendered"].values()))
    for warning in (*found.warnings, *of_target):
        messages.warn(warning)
