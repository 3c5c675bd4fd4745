"""Members of a batch that stay as they are though their code changed, because their runs are complete.

Such a member keeps the inputs that its run was born with: so neither this deployment nor a later
one sees a change of it, as long as its run is there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from trainer_infra.deploy.operations import declared_run
from trainer_infra.deploy.operations.batch_properties import BatchProperties
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs.members import members_of, names_shown
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity
from trainer_infra.runs.run import COMPLETE, owner_from_json

_SECRETS: Final = "secretData"


def kept_inputs(
    olds: JSONObject, news: JSONObject, session: StackSession
) -> Mapping[str, JSONObject]:
    """Inputs of the members that stay as they are, by name; says which these are.

    Secrets are always those of the program: an engine keeps what it was given before encrypted only where
    new ones are secret too.

    Args:
        olds: inputs of the batch as they were.
        news: inputs as the program declares them.
        session: of its stack.
    """
    before, declared = members_of(olds), members_of(news)
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
        messages.info(f"{count}, of other code: {names_shown(complete)}")
    return {name: _with_secrets(alike[name], declared[name]) for name in complete}


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
    runs = {(run.namespace, run.name): run for s in spaces for run in target.list_runs(s).runs}
    found = {name: runs.get((each.namespace, each.name)) for name, each in jobs.items()}
    return [
        name
        for name, run in found.items()
        if run is not None
        and run.phase == COMPLETE
        and run.owner.is_same(owner_from_json(alike[name]["owner"]))
    ]


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
    own = dict(identity.identity_of_spec(spec))
    trainer = {
        key: each for key, each in (own.pop("trainer", None) or {}).items() if key != "image"
    }
    return {**own, "trainer": trainer}


def _arguments(job: TrainJobProperties) -> str:
    return job.code.files.get("args.json", "") if job.code else ""


def _with_secrets(old: JSONObject, new: JSONObject) -> dict[str, Any]:
    rest = {key: each for key, each in old.items() if key != _SECRETS}
    return {**rest, **({_SECRETS: new[_SECRETS]} if _SECRETS in new else {})}
