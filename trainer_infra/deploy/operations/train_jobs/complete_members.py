"""Members of a changed batch whose runs are complete: which stay as they are, and which start anew.

A member that stays though its code changed keeps the inputs that its run was born with: so neither
this deployment nor a later one sees a change of it, as long as its run is there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from trainer_infra.deploy.operations import declared_run
from trainer_infra.deploy.operations.batch_properties import BatchProperties
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import members
from trainer_infra.deploy.operations.train_jobs.result_gate import seen_runs
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity
from trainer_infra.runs.run import COMPLETE


def kept_inputs(
    olds: JSONObject, news: JSONObject, session: StackSession
) -> Mapping[str, JSONObject]:
    """Inputs of the members that stay as they are, by name; says which these are.

    Secrets are always those of the program: an engine keeps what it was given before encrypted only where
    new ones are secret too.
    """
    before, declared = members.members_of(olds), members.members_of(news)
    alike = {
        name: before[name]
        for name, new in declared.items()
        if name in before and not is_unknown(new) and _is_of_other_code(before[name], new)
    }
    if not alike:
        return {}
    batch = BatchProperties(news)
    messages = session.messages(batch.urn)
    try:
        complete = _complete(batch, alike, session)
    except NotAvailable as error:
        # What is complete must not be lost because it cannot be seen now.
        messages.warn(
            f"which members are complete cannot be told, so that none starts anew: {error}"
        )
        complete = list(alike)
    if complete:
        count = f"{len(complete)} of {len(declared)} members are complete and stay as they are"
        messages.info(f"{count}, of other code: {members.names_shown(complete)}")
    secrets = {name: {"secretData": declared[name].get("secretData")} for name in complete}
    return {name: {**alike[name], **secrets[name]} for name in complete}


def tell_anew(
    state: JSONObject,
    news: JSONObject,
    changes: Mapping[str, members.MemberChange],
    session: StackSession,
) -> None:
    """Say how many members start anew, and which of their runs are complete, which is a warning.

    To Pulumi a batch that changes is an update, whatever becomes of its members. One with a value that is not
    known yet may turn out to be as it was.
    """
    declared = members.members_of(news)
    replaced = [
        name
        for name, change in changes.items()
        if change is members.MemberChange.REPLACE and not is_unknown(declared[name])
    ]
    if not replaced:
        return
    known = BatchProperties(state)
    runs, entries = seen_runs(known, session), known.runs
    now = {name: runs.get(entries[name].uid) for name in replaced}
    complete = [name for name, run in now.items() if run is not None and run.phase == COMPLETE]
    messages = session.messages(BatchProperties(news).urn)
    said = f"{len(replaced)} of {len(changes)} members start anew, and their runs are deleted"
    if complete:
        shown = members.names_shown(complete)
        messages.warn(f"{said}; {len(complete)} of these are complete: {shown}")
    else:
        messages.info(said)


def _complete(
    batch: BatchProperties, alike: Mapping[str, JSONObject], session: StackSession
) -> Sequence[str]:
    """Those whose runs are complete and their owner's.

    Raises:
        NotAvailable: Their place cannot be asked.
    """
    target, jobs = session.target(batch), {n: TrainJobProperties(o) for n, o in alike.items()}
    if not target.answers():
        raise NotAvailable("their place does not answer")
    spaces = sorted({each.namespace for each in jobs.values()})
    listed = (run for space in spaces for run in target.list_runs(space).runs)
    complete = {(run.namespace, run.name): run.owner for run in listed if run.phase == COMPLETE}
    owners = {name: complete.get((each.namespace, each.name)) for name, each in jobs.items()}
    return [name for name, each in owners.items() if each and each.is_same(jobs[name].owner)]


def _is_of_other_code(old: JSONObject, new: JSONObject) -> bool:
    """Whether a member is another run than before, and that only for code, packages, image or runtime."""
    born, now = TrainJobProperties(old), TrainJobProperties(new)
    return (
        bool(born.name)
        and not declared_run.is_same_run(now, born)
        and declared_run.is_declared_alike(now, born)
        and _without_image(now.spec) == _without_image(born.spec)
        and _arguments(now) == _arguments(born)
    )


def _without_image(spec: JSONObject) -> dict[str, Any]:
    own = identity.identity_of_spec(spec)
    return {**own, "trainer": members.without_keys(own.get("trainer") or {}, ("image",))}


def _arguments(job: TrainJobProperties) -> str:
    return job.code.files.get("args.json", "") if job.code else ""
