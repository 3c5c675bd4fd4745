"""What the engine asks about a TrainJob: check, diff, create, read, update, delete.

Called by `deploy.provider` with properties as plain JSON. Decisions are in `declared_run`,
`rendering` and `changes`; the run itself is its target's. Rules: design rules 1 to 5.
"""

from dataclasses import replace
from typing import Any, Final

from trainer_infra.deploy import backend
from trainer_infra.deploy.operations import (
    changes,
    declared_run,
    digests,
    gate,
    options,
    rendering,
    targets,
)
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.declared_run import owner_of
from trainer_infra.deploy.operations.place import ResourcePlace, place_of
from trainer_infra.deploy.operations.remediation_through_replace import (
    remember_remediation,
    with_remediation,
)
from trainer_infra.deploy.operations.rendering import Preview
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.values import is_unknown, plain_json
from trainer_infra.errors import (
    InvalidInput,
    NotAvailable,
    Refused,
    TrainerInfraError,
    Unreadable,
)
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Contents, Owner, Run, Submission, owner_to_json
from trainer_infra.runs.target import Target
from trainer_infra.trainers.code import config_map

TAKE_BACK: Final = (
    "`pulumi refresh` forgets it here, and `pulumi up` with adopt=True after that takes it back"
)

KEEP: Final = 'to keep the run, add ignore_changes=["runtime"] to its options'


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    """Validate, and fill in name, runtime and rendering."""
    return with_remediation(_checked(olds, news, session), session)


def _checked(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    news = {**news, "owner": backend.with_backend(news["owner"])}
    choice = tuple(targets.choice_problems(news))
    problems = (*choice, *options.option_problems(news))
    if choice or is_unknown(news):
        return CheckAnswer(news, problems)
    try:
        preview = rendering.preview_run(news, olds, session.target(news))
    except InvalidInput as error:
        return CheckAnswer(news, (*problems, *options.named_once(error.problems, news)))
    if not problems:
        _tell(preview, news, olds, session)
    return CheckAnswer(preview.inputs, problems)


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Nothing, an update in place, or a new run."""
    remember_remediation(news, session)
    return changes.train_job_difference(olds, news)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Submit the run exactly as it was shown."""
    target = session.target(given)
    run = target.submit(submission_of(given, target), adopt=bool(given.get("adopt")))
    session.created.add(run.uid)
    messages = session.messages(given["owner"]["urn"])
    messages.info(sentences.submitted_line([(run.namespace, run.name)]))
    return CreateAnswer(f"{run.namespace}/{run.name}", digests.with_digests(outputs_of(given, run)))


def submission_of(given: JSONObject, target: Target) -> Submission:
    """What a target is asked to run.

    Raises:
        Refused: The rendering is not that of the specification.
    """
    runtime = declared_run.runtime_of(given)
    run = rendering.compose_run(given, given["name"], runtime, target)
    if plain_json(rendering.by_role(run.objects, given["name"])) != given["rendered"]:
        raise Refused(
            f"TrainJob {given['name']}: rendered is not what its spec renders to; "
            "change the spec instead"
        )
    if given.get("maxParallel"):
        # The gate of the batch starts it when it is its turn, as Kueue does with what it queues.
        held = {**given, "spec": {**given["spec"], "suspend": True}}
        run = rendering.compose_run(held, given["name"], runtime, target)
    return Submission(
        job=run.job.to_wire(),
        runtime=run.runtime.to_wire(),
        objects=run.objects,
        secret_data=given.get("secretData") or {},
        packages=tuple((given.get("code") or {}).get("packages") or ()),
        owner=owner_of(given),
        content=declared_run.content_of(given, run.runtime),
        plugins=tuple(given.get("plugins") or ()),
    )


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The run as it is now; one that cannot be looked at stays as it was last seen.

    A run that another owner took over is theirs, and gone for this one.
    """
    place = _place(state, session)
    messages = session.messages(state["owner"]["urn"])
    if place.elsewhere:
        messages.warn(f"{place.elsewhere}; it is kept as it was last seen")
        return Present({**state, "lastSeen": f"unknown (on {state['host']})"})
    try:
        run = place.target.get(state["namespace"], state["name"], state["uid"])
    except Unreadable as error:
        messages.warn(f"{state['name']} stays as it was last seen: {error}")
        return Present(state)
    if run is not None and not run.owner.is_same(owner_of(state)):
        messages.warn(f"{sentences.taken_by(run)}; {TAKE_BACK}")
        run = None
    if run is None:
        return None
    if failure := sentences.failed_briefly(run):
        messages.warn(failure)
    return Present({**outputs_of(state, run), "host": place.host})


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Bring the run to what the program says, in place; the outputs."""
    return digests.with_digests(update_run(olds, news, session))


def update_run(olds: JSONObject, news: JSONObject, session: StackSession) -> dict[str, Any]:
    """What is known of a run once it was suspended or resumed, got secret values, or was repaired.

    Raises:
        NotAvailable: The run is gone, or cannot be reached.
        Refused: It is another owner's by now.
    """
    place = _place(olds, session)
    target = place.required()
    key = (olds["namespace"], olds["name"], olds["uid"])
    gone = NotAvailable(f"TrainJob {olds['name']} is gone; run `pulumi refresh`")
    run = target.get(*key)
    if run is None:
        raise gone
    owner = _kept(run, olds, news)
    if news.get("secretData") != olds.get("secretData"):
        target.update_secrets(*key, news.get("secretData") or {}, owner=run.owner)
    if olds.get("drift"):
        # What is in objects of the run, of which the record has only the names.
        code = declared_run.code_of(news)
        config_maps = (config_map(news, code),) if code else ()
        target.repair(*key, Contents(news.get("secretData") or {}, config_maps), owner=run.owner)
    wanted = bool(news["spec"].get("suspend"))
    if wanted != bool(olds["spec"].get("suspend")):
        target.suspend(*key, wanted, owner=run.owner)
    if owner != run.owner:
        target.give(*key, owner, owner=run.owner)
    run = target.get(*key)
    if run is None:
        raise gone
    outputs = outputs_of({**news, "owner": owner_to_json(owner)}, run)
    return {**outputs, "host": place.host}


def _kept(run: Run, olds: JSONObject, news: JSONObject) -> Owner:
    """Whose the run is after an update: the stack or the resource may have another name by now.

    The state had its old name until this update; one that was killed wrote the new one already.

    Raises:
        Refused: It is another owner's.
    """
    before, after = owner_of(olds), owner_of(news)
    if not (run.owner.is_same(before) or run.owner.is_same(after)):
        raise Refused(f"{sentences.taken_by(run)}, so nothing of it is changed; {TAKE_BACK}")
    return after if after.backend else replace(after, backend=run.owner.backend)


def delete(state: JSONObject, session: StackSession) -> None:
    """End the run and remove what is left of it; gone already, or another owner's now, is fine.

    A forced replacement of an unchanged job (`pulumi up --replace`) creates first, which finds this
    very run, and then deletes the original: the run stays.
    """
    target = _place(state, session).required()
    messages = session.messages(state["owner"]["urn"])
    if state["uid"] in session.created:
        messages.info(
            f"{state['name']} is kept: the same content is the same run; raise attempt to run it again"
        )
        return
    timeout = float(state.get("deleteTimeout", 60))
    key = (state["namespace"], state["name"], state["uid"])
    warning = target.delete(*key, timeout, owner=owner_of(state))
    if warning:
        messages.warn(warning)
    if state.get("outputs"):
        messages.info(
            f"the outputs of {state['name']} are kept: {sentences.metrics_line(state['outputs'])}"
        )


def _place(state: JSONObject, session: StackSession) -> ResourcePlace:
    key = (state["namespace"], state["name"], state["uid"])
    what = f"TrainJob {state['name']}"
    return place_of(state, what, lambda target: is_found(target, *key), session)


def is_found(target: Target, namespace: str, name: str, uid: str) -> bool:
    """Whether the very run is there, readable or not."""
    try:
        return target.get(namespace, name, uid) is not None
    except Unreadable:
        return True


def outputs_of(given: JSONObject, run: Run) -> dict[str, Any]:
    """What is known of a run: its inputs, and how it was seen."""
    kept = {key: given[key] for key in given if key != "drift"}
    seen = {"uid": run.uid, "host": run.host, "lastSeen": gate.phase_of(run)}
    drift = {"drift": dict(run.drift)} if run.drift else {}
    return {**kept, **seen, **drift, "outputs": given.get("outputs") or {}}


def failure_of(given: JSONObject, session: StackSession) -> str:
    """That a run without a gate failed; empty where that is not known."""
    try:
        run = session.target(given).get(given["namespace"], given["name"])
    except TrainerInfraError:
        # A preview goes on without its place; what is wrong with it is said of what is new.
        return ""
    is_its = run is not None and run.owner.is_same(owner_of(given))
    return sentences.failed_briefly(run) if run is not None and is_its else ""


def _tell(preview: Preview, given: JSONObject, olds: JSONObject, session: StackSession) -> None:
    """Say what is worth knowing at preview though nothing is wrong."""
    messages = session.messages(given["owner"]["urn"])
    if declared_run.is_same_run(given, olds):
        if remark := declared_run.older_runtime(given, olds):
            messages.info(remark)
        if "waitFor" not in given and (failure := failure_of(preview.inputs, session)):
            messages.warn(failure)
        return
    if declared_run.is_of_another_runtime(given, olds):
        name = preview.inputs["runtime"]["metadata"]["name"]
        messages.info(f"its runtime {name} has changed, so it runs again; {KEEP}")
    objects = tuple(preview.inputs["rendered"].values())
    of_target = session.new_remarks(session.target(given).warnings(objects))
    for warning in (*preview.warnings, *of_target):
        messages.warn(warning)
