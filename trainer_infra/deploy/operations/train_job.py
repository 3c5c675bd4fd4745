"""What the engine asks about a TrainJob: check, diff, create, read, update, delete.

Decisions are in `declared_run`, `rendering` and `changes`; the run itself is its target's. Rules:
design rules 1 to 5.
"""

from dataclasses import replace
from typing import Any, Final

from trainer_infra.deploy import backend
from trainer_infra.deploy.operations import (
    changes,
    code_upload,
    declared_run,
    digests,
    gate,
    options,
    output_places,
    rendering,
    stored_runtime,
    targets,
)
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.place import ResourcePlace, place_of
from trainer_infra.deploy.operations.properties import TrainJobProperties
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
from trainer_infra.runs.run import (
    COMPLETE,
    FAILED,
    LOST,
    Contents,
    Owner,
    Run,
    RunKey,
    Submission,
    owner_to_json,
)
from trainer_infra.runs.target import Target
from trainer_infra.trainers.code_mount import config_map

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
    job, born = TrainJobProperties(news), TrainJobProperties(olds)
    try:
        target = session.target(job)
        stored = stored_runtime.stored_runtime(job, born, target)
        preview = rendering.preview_run(job, born, target, stored)
    except InvalidInput as error:
        return CheckAnswer(news, (*problems, *options.named_once(error.problems, news)))
    if not problems:
        _tell(preview, job, born, session)
    return CheckAnswer(_with_kept_identity(preview.inputs, olds, target), problems)


def _with_kept_identity(job: TrainJobProperties, olds: JSONObject, target: Target) -> JSONObject:
    """The inputs, and what an update in place leaves as it is: its gate then has nothing to wait for anew.

    Of an update the engine previews the inputs alone, and takes all else for unknown.
    """
    difference = changes.train_job_difference(olds, job.json) if olds else None
    if difference is None or difference.replaces or not difference.changes:
        return job.json
    try:
        run = target.get(job.namespace, job.name)
    except TrainerInfraError:
        return job.json
    is_its = run is not None and run.owner.is_same(TrainJobProperties(olds).owner)
    return {**job.json, "uid": run.uid, "host": run.host} if run and is_its else job.json


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Nothing, an update in place, or a new run."""
    remember_remediation(news, session)
    return changes.train_job_difference(olds, news)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Submit the run exactly as it was shown."""
    job = TrainJobProperties(given)
    target = session.target(job)
    run = submit(job, target)
    session.created.add(run.uid)
    messages = session.messages(job.urn)
    messages.info(sentences.submitted_line([(run.namespace, run.name)]))
    return CreateAnswer(f"{run.namespace}/{run.name}", digests.with_digests(outputs_of(job, run)))


def submit(job: TrainJobProperties, target: Target) -> Run:
    """The run, begun once its code is where pods fetch it.

    Raises:
        TrainerInfraError: It cannot be.
    """
    submission = submission_of(job, target)
    if job.code is not None and job.code.stored is not None:
        code_upload.upload(job.code.stored.address)
    return target.submit(submission, adopt=job.adopts)


def submission_of(job: TrainJobProperties, target: Target) -> Submission:
    """What a target is asked to run.

    Raises:
        Refused: The rendering is not that of the specification.
    """
    runtime = declared_run.runtime_of(job)
    run = rendering.compose_run(job, job.name, runtime, target)
    if plain_json(rendering.by_role(run.objects, job.name)) != job.rendered:
        raise Refused(
            f"TrainJob {job.name}: rendered is not what its spec renders to; "
            "change the spec instead"
        )
    if job.is_held:
        # As Kueue holds what it queues.
        held = job.with_values(spec={**job.spec, "suspend": True})
        run = rendering.compose_run(held, job.name, runtime, target)
    return Submission(
        job=run.job.to_wire(),
        runtime=run.runtime.to_wire(),
        objects=run.objects,
        secret_data=job.secret_data,
        packages=output_places.packages_to_install(job),
        owner=job.owner,
        content=declared_run.content_of(job, run.runtime),
        plugins=job.plugins,
        controller=job.controller,
    )


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The run as it is now; one that cannot be looked at stays as it was last seen.

    A run that another owner took over is theirs, and gone for this one.
    """
    job = TrainJobProperties(state)
    place, messages = _place(job, session), session.messages(job.urn)
    if place.elsewhere:
        messages.warn(f"{place.elsewhere}; it is kept as it was last seen")
        return Present({**state, "lastSeen": f"unknown (on {job.host})"})
    try:
        run = place.target.get(*job.key.address)
    except Unreadable as error:
        messages.warn(f"{job.name} stays as it was last seen: {error}")
        return Present(state)
    if run is None:
        if not (lost := lost_sentence(job)):
            return None
        messages.warn(lost)
        return Present({**state, "lastSeen": f"{LOST}: {lost}"})
    if not run.owner.is_same(job.owner):
        messages.warn(f"{sentences.taken_by(run)}; {TAKE_BACK}")
        return None
    if failure := sentences.failed_briefly(run):
        messages.warn(failure)
    return Present({**outputs_of(job, run), "host": place.host})


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Bring the run to what the program says, in place; the outputs."""
    updated = update_run(TrainJobProperties(olds), TrainJobProperties(news), session)
    return digests.with_digests(updated)


def update_run(
    old: TrainJobProperties, new: TrainJobProperties, session: StackSession
) -> dict[str, Any]:
    """What is known of a run once it was suspended or resumed, got secret values, or was repaired.

    Raises:
        NotAvailable: The run is gone, or cannot be reached.
        Refused: It is another owner's by now.
    """
    place = _place(old, session)
    target = place.required()
    gone = NotAvailable(f"TrainJob {old.name} is gone; run `pulumi refresh`")
    run = target.get(*old.key.address)
    if run is None:
        raise gone
    owner = _kept(run, old.owner, new.owner)
    if new.json.get("secretData") != old.json.get("secretData"):
        target.update_secrets(run.key, new.secret_data)
    if old.drift:
        # What is in objects of the run, of which the record has only the names.
        config_maps = (config_map(new.json, new.code),) if new.code else ()
        target.repair(run.key, Contents(new.secret_data, config_maps))
    if new.is_suspended != old.is_suspended:
        target.suspend(run.key, new.is_suspended)
    if owner != run.owner:
        target.give(run.key, owner)
    run = target.get(*old.key.address)
    if run is None:
        raise gone
    return {**outputs_of(new.with_values(owner=owner_to_json(owner)), run), "host": place.host}


def _kept(run: Run, before: Owner, after: Owner) -> Owner:
    """Whose the run is after an update: the stack or the resource may have another name by now.

    The state had its old name until this update; one that was killed wrote the new one already.

    Raises:
        Refused: It is another owner's.
    """
    if not (run.owner.is_same(before) or run.owner.is_same(after)):
        raise Refused(f"{sentences.taken_by(run)}, so nothing of it is changed; {TAKE_BACK}")
    return after if after.backend else replace(after, backend=run.owner.backend)


def delete(state: JSONObject, session: StackSession) -> None:
    """End the run and remove what is left of it; gone already, or another owner's now, is fine.

    A forced replacement of an unchanged job (`pulumi up --replace`) creates first, which finds this
    very run, and then deletes the original: the run stays.
    """
    job = TrainJobProperties(state)
    target, messages = _place(job, session).required(), session.messages(job.urn)
    if job.key.uid in session.created:
        messages.info(
            f"{job.name} is kept: the same content is the same run; raise attempt to run it again"
        )
        return
    warning = target.delete(job.key, job.delete_timeout)
    if warning:
        messages.warn(warning)
    if job.outputs:
        messages.info(f"the outputs of {job.name} are kept: {sentences.metrics_line(job.outputs)}")


def _place(job: TrainJobProperties, session: StackSession) -> ResourcePlace:
    what = f"TrainJob {job.name}"
    return place_of(job, what, lambda target: is_found(target, job.key), session)


def is_found(target: Target, key: RunKey) -> bool:
    """Whether the very run is there, readable or not."""
    try:
        return target.get(*key.address) is not None
    except Unreadable:
        return True


def lost_sentence(job: TrainJobProperties) -> str:
    """That a run of a state is lost which is not there any more; empty where it is just gone.

    With engine `controller` the TrainJob is all that there is of a run: one that was not seen to end is
    never run again because another client deleted it.
    """
    is_over = str(job.json.get("lastSeen") or "").startswith((COMPLETE, FAILED))
    if job.engine != targets.CONTROLLER or is_over:
        return ""
    return (
        f"TrainJob {job.name} was deleted, and was not seen to end: nothing runs it again by itself; "
        "raise attempt to run it again, or remove it from the program"
    )


def outputs_of(job: TrainJobProperties, run: Run) -> dict[str, Any]:
    """What is known of a run: its inputs, and how it was seen."""
    kept = {key: each for key, each in job.json.items() if key != "drift"}
    seen = {"uid": run.uid, "host": run.host, "lastSeen": gate.phase_of(run)}
    drift = {"drift": dict(run.drift)} if run.drift else {}
    return {**kept, **seen, **drift, "outputs": job.outputs}


def failure_of(job: TrainJobProperties, session: StackSession) -> str:
    """That a run without a gate failed; empty where that is not known."""
    try:
        run = session.target(job).get(job.namespace, job.name)
    except TrainerInfraError:
        # A preview goes on without its place; what is wrong with it is said of what is new.
        return ""
    is_its = run is not None and run.owner.is_same(job.owner)
    return sentences.failed_briefly(run) if run is not None and is_its else ""


def _tell(
    preview: Preview, job: TrainJobProperties, born: TrainJobProperties, session: StackSession
) -> None:
    """Say what is worth knowing at preview though nothing is wrong."""
    messages = session.messages(job.urn)
    if declared_run.is_same_run(job, born):
        if remark := declared_run.older_runtime(job, born):
            messages.info(remark)
        if not job.has_gate and (failure := failure_of(preview.inputs, session)):
            messages.warn(failure)
        return
    if declared_run.is_of_another_runtime(job, born):
        name = declared_run.runtime_of(preview.inputs).metadata.name
        messages.info(f"its runtime {name} has changed, so it runs again; {KEEP}")
    objects = tuple(preview.inputs.rendered.values())
    of_target = session.new_remarks(session.target(job).warnings(objects))
    for warning in (*preview.warnings, *of_target):
        messages.warn(warning)
