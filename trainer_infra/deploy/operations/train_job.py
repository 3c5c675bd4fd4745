"""What the engine asks about a TrainJob: check, diff, create, read, update, delete.

Decisions are in `declared_run`, `rendering` and `changes`; the run itself is its target's. Rules:
design rules 1 to 5.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api import checkpoint
from trainer_infra.deploy import backend
from trainer_infra.deploy.operations import (
    changes,
    code_upload,
    declared_run,
    gate,
    options,
    remediation_through_replace,
    rendering,
    targets,
)
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.place import place_of_runs
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.rendering import Preview
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.values import is_unknown, plain_json
from trainer_infra.errors import (
    InvalidInput,
    NotAvailable,
    Problem,
    Refused,
    TrainerInfraError,
    Unreadable,
)
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.run import COMPLETE, FAILED, LOST, Contents, Run, Submission, owner_to_json
from trainer_infra.runs.target import Target
from trainer_infra.trainers import checkpoints, volume_address
from trainer_infra.trainers.code_mount import config_map

TAKE_BACK: Final = (
    "`pulumi refresh` forgets it here, and `pulumi up` with adopt=True after that takes it back"
)


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    """Validate, and fill in name, runtime and rendering."""
    return remediation_through_replace.with_remediation(_checked(olds, news, session), session)


def _checked(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    news = {**news, "owner": backend.with_backend(news["owner"])}
    if choice := tuple(targets.choice_problems(news)):
        return CheckAnswer(news, (*choice, *options.option_problems(news)))
    target = session.target(TrainJobProperties(news))
    found = checked_run(olds, news, target)
    if found.preview is None:
        return found
    job = found.preview.inputs
    if shared := tuple(shared_place(job, session)):
        return CheckAnswer(news, shared)
    _tell(found.preview, TrainJobProperties(news), TrainJobProperties(olds), session)
    kept = runs_kept({"": olds} if olds else {}, {"": job}, target)
    seen = {"uid": run.uid, "host": run.host} if (run := kept.get("")) else {}
    return CheckAnswer({**job.json, **seen})


@dataclass(frozen=True, slots=True)
class CheckedRun(CheckAnswer):
    """What is known of a run before deployment; its inputs are filled in where that was possible."""

    preview: Preview | None = None
    """None where a value is unknown as yet, or something is wrong."""


def checked_run(olds: JSONObject, news: JSONObject, target: Target) -> CheckedRun:
    """A TrainJob, or a member of a batch, judged and rendered; `olds` are empty where it is new."""
    problems = tuple(options.option_problems(news))
    if is_unknown(news):
        return CheckedRun(news, problems)
    job, born = TrainJobProperties(news), TrainJobProperties(olds)
    try:
        preview = rendering.preview_run(job, born, target)
    except InvalidInput as error:
        return CheckedRun(news, (*problems, *options.named_once(error.problems, news)))
    return CheckedRun(preview.inputs.json, problems, None if problems else preview)


def shared_place(job: TrainJobProperties, session: StackSession) -> Iterator[Problem]:
    """A problem where another run of the program saves its checkpoints at the same place."""
    said = checkpoint.said_of(checkpoints.variable_text(job.spec.get("trainer") or {})) or {}
    address = job.outputs.get(str(said.get("place", "")).removeprefix(checkpoint.OUTPUT))
    if not address:
        return
    within = job.namespace if volume_address.is_folder(address) else ""
    other = session.other_at(f"{within} {address}", f"{job.urn} {job.resource}")
    if other:
        name = other.rpartition(" ")[2]
        what = f"is where {name} saves, too: each would remove the other one's checkpoints"
        yield Problem("checkpoint.uri", what, address, "put {run} into it, or give each its own")


def runs_kept(
    olds: Mapping[str, JSONObject], news: Mapping[str, TrainJobProperties], target: Target
) -> Mapping[str, Run]:
    """Of an update in place the runs, by member: their gate then has nothing to wait for anew.

    Of an update the engine previews the inputs alone, and takes all else for unknown. None where one is
    another run, or cannot be seen. All of the inputs is known, before and now.
    """
    if olds.keys() != news.keys():
        return {}
    found = [changes.train_job_difference(olds[name], each.json) for name, each in news.items()]
    if not any(each.changes for each in found) or any(each.replaces for each in found):
        return {}
    try:
        runs = {name: target.get(each.namespace, each.name) for name, each in news.items()}
    except TrainerInfraError:
        return {}
    owners = {name: TrainJobProperties(each).owner for name, each in olds.items()}
    kept = {name: run for name, run in runs.items() if run and run.owner.is_same(owners[name])}
    return kept if kept.keys() == news.keys() else {}


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Nothing, an update in place, or a new run."""
    remediation_through_replace.remember_remediation(news, session)
    return changes.train_job_difference(olds, news)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Submit the run exactly as it was shown."""
    job = TrainJobProperties(given)
    target = session.target(job)
    run = submit(job, target)
    session.created.add(run.uid)
    said = sentences.submitted_line([run.key])
    session.messages(job.urn).info(said)
    return CreateAnswer(f"{run.namespace}/{run.name}", changes.with_digests(outputs_of(job, run)))


def submit(job: TrainJobProperties, target: Target) -> Run:
    """The run, begun once its code is where pods fetch it."""
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
        packages=declared_run.packages_to_install(job),
        owner=job.owner,
        content=declared_run.content_of(job, run.runtime),
        plugins=job.plugins,
        controller=job.controller,
    )


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The run as it is now: as last seen where it cannot be looked at, gone where another owner took it over."""
    job = TrainJobProperties(state)
    place, messages = place_of_runs(job, session), session.messages(job.urn)
    if place.elsewhere:
        messages.warn(f"{place.elsewhere}; it is kept as it was last seen")
        return Present({**state, "lastSeen": f"unknown (on {job.host})"})
    seen, said = seen_run(job, place.target)
    if said:
        messages.warn(said)
    return None if seen is None else Present({**seen, "host": place.host})


def seen_run(job: TrainJobProperties, target: Target) -> tuple[JSONObject | None, str]:
    """The state with the run as it is now, None where it is gone for its owner; and what there is to say."""
    try:
        run = target.get(*job.key.address)
    except Unreadable as error:
        return job.json, f"{job.name} stays as it was last seen: {error}"
    if run is None:
        lost = _lost_sentence(job)
        return ({**job.json, "lastSeen": f"{LOST}: {lost}"} if lost else None), lost
    if not run.owner.is_same(job.owner):
        return None, f"{sentences.taken_by(run)}; {TAKE_BACK}"
    return outputs_of(job, run), sentences.failed_briefly(run)


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Bring the run to what the program says, in place; the outputs."""
    old = TrainJobProperties(olds)
    place = place_of_runs(old, session)
    updated = update_run(old, TrainJobProperties(news), place.required())
    return changes.with_digests({**updated, "host": place.host})


def update_run(old: TrainJobProperties, new: TrainJobProperties, target: Target) -> dict[str, Any]:
    """What is known of a run once it was suspended or resumed, got secret values, or was repaired.

    Raises:
        NotAvailable: The run is gone, or cannot be reached.
        Refused: It is another owner's by now.
    """
    gone = NotAvailable(f"TrainJob {old.name} is gone; run `pulumi refresh`")
    run = target.get(*old.key.address)
    if run is None:
        raise gone
    # The stack or the resource may have another name by now. The state had its old name until this
    # update; one that was killed wrote the new one already.
    if not (run.owner.is_same(old.owner) or run.owner.is_same(new.owner)):
        raise Refused(f"{sentences.taken_by(run)}, so nothing of it is changed; {TAKE_BACK}")
    owner = new.owner if new.owner.backend else replace(new.owner, backend=run.owner.backend)
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
    return outputs_of(new.with_values(owner=owner_to_json(owner)), run)


def delete(state: JSONObject, session: StackSession) -> None:
    """End the run and remove what is left of it; gone already, or another owner's now, is fine.

    A forced replacement of an unchanged job (`pulumi up --replace`) creates first, which finds this
    very run, and then deletes the original: the run stays.
    """
    job = TrainJobProperties(state)
    target, messages = place_of_runs(job, session).required(), session.messages(job.urn)
    if job.key.uid in session.created:
        messages.info(
            f"{job.name} is kept: the same content is the same run; raise attempt to run it again"
        )
        return
    if warning := target.delete(job.key, job.delete_timeout):
        messages.warn(warning)
    if job.outputs:
        messages.info(f"the outputs of {job.name} are kept: {sentences.metrics_line(job.outputs)}")


def _lost_sentence(job: TrainJobProperties) -> str:
    """That a run of a state which is not there any more is lost; empty where it is just gone.

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
    seen = {"uid": run.uid, "host": run.host, "lastSeen": gate.phase_of(run)}
    return job.seen(run.drift, **seen, outputs=job.outputs)


def failure_of(job: TrainJobProperties, session: StackSession) -> str:
    """That a run without a gate failed; empty where that is not known."""
    try:
        run = session.target(job).get(job.namespace, job.name)
    except TrainerInfraError:
        # A preview goes on without its place; what is wrong with it is said of what is new.
        return ""
    return sentences.failed_briefly(run) if run and run.owner.is_same(job.owner) else ""


def _tell(
    preview: Preview, job: TrainJobProperties, born: TrainJobProperties, session: StackSession
) -> None:
    """Say what is worth knowing at preview though nothing is wrong."""
    messages = session.messages(job.urn)
    if preview.is_kept:
        if remark := declared_run.older_runtime(job, born):
            messages.info(remark)
        if not job.has_gate and (failure := failure_of(preview.inputs, session)):
            messages.warn(failure)
        return
    if declared_run.is_of_another_runtime(job, born):
        name = declared_run.runtime_of(preview.inputs).metadata.name
        messages.info(
            f"its runtime {name} has changed, so it runs again; to keep the run, add "
            'ignore_changes=["runtime"] to its options'
        )
    objects = tuple(preview.inputs.rendered.values())
    of_target = session.new_remarks(session.target(job).warnings(objects))
    for warning in (*preview.warnings, *of_target):
        messages.warn(warning)
    for remark in preview.remarks:
        messages.info(remark)
