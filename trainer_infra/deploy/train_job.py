"""What the engine asks about a TrainJob: check, diff, create, read, update, delete.

Called by `provider.TrainJobProvider` with properties as JSON. Decisions are in `inputs` and
`changes`; the run itself is `local.runs`'s. Rules: DESIGN.md, "Rules that make it trustworthy".
"""

import platform
from typing import Any, Final

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from trainer_infra.deploy import boundary, changes, gate, inputs
from trainer_infra.deploy.boundary import Messages
from trainer_infra.errors import InvalidInput, NotAvailable, Refused
from trainer_infra.local import ports, runs
from trainer_infra.local.runs import Owner, Run, Submission

Properties = dict[str, Any]

_CREATED: Final[set[str]] = set()
"""Uids that create gave back in this process, which serves one operation of the engine."""


def check(olds: Properties, news: Properties) -> CheckResult:
    """Validate, and fill in name, runtime and rendering."""
    problems = list(inputs.settings(news))
    if boundary.unknown(news):
        return CheckResult(news, boundary.failures(tuple(problems)))
    filled = news
    try:
        filled = inputs.checked(news, olds)
    except InvalidInput as error:
        problems += error.problems
    if not problems:
        _notices(news, filled, olds)
    return CheckResult(filled, boundary.failures(tuple(problems)))


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Nothing, an update in place, or a new run."""
    return changes.of_train_job(olds, news)


def create(given: Properties) -> CreateResult:
    """Submit the run exactly as it was shown."""
    composition = inputs.composed(given, given["name"], inputs.runtime_of(given))
    objects = inputs.rendered(composition)
    if boundary.plain(objects) != given["rendered"]:
        raise Refused(
            f"TrainJob {given['name']}: rendered is not what its spec renders to; "
            "change the spec instead"
        )
    submission = Submission(
        job=composition.job.to_wire(),
        runtime=composition.runtime.to_wire(),
        objects=composition.objects,
        secret_data=given.get("secretData") or {},
        packages=tuple((given.get("code") or {}).get("packages") or ()),
        owner=Owner(**given["owner"]),
        content=inputs.content(given, composition.runtime),
        plugins=tuple(given.get("plugins") or ()),
    )
    run = runs.submit(submission, adopt=bool(given.get("adopt")))
    _CREATED.add(run.uid)
    return CreateResult(f"{run.namespace}/{run.name}", _outputs(given, run))


def read(id_: str, state: Properties) -> ReadResult:
    """The run as it is now; one of another machine stays as it was last seen."""
    if state["host"] != platform.node():
        return ReadResult(id_, {**state, "lastSeen": f"unknown (on {state['host']})"})
    run = runs.get(state["namespace"], state["name"], state["uid"])
    return ReadResult("", {}) if run is None else ReadResult(id_, _outputs(state, run))


def update(olds: Properties, news: Properties) -> UpdateResult:
    """Suspend, resume, or change secret values; the run goes on."""
    _only_here(olds)
    key = (olds["namespace"], olds["name"], olds["uid"])
    if news.get("secretData") != olds.get("secretData"):
        runs.update_secrets(*key, news.get("secretData") or {})
    wanted = bool(news["spec"].get("suspend"))
    if wanted != bool(olds["spec"].get("suspend")):
        run: Run | None = runs.suspend(*key, wanted)
    else:
        run = runs.get(*key)
    if run is None:
        raise NotAvailable(f"TrainJob {olds['name']} is gone; run `pulumi refresh`")
    return UpdateResult(_outputs(news, run))


def delete(state: Properties) -> None:
    """End the run and remove what is left of it; gone already is fine.

    A forced replacement of an unchanged job (`pulumi up --replace`) creates first, which finds this
    very run, and then deletes the original: the run stays.
    """
    _only_here(state)
    if state["uid"] in _CREATED:
        Messages(state["owner"]["urn"]).info(
            f"{state['name']} is kept: the same content is the same run; raise attempt to run it again"
        )
        return
    timeout = float(state.get("deleteTimeout", 60))
    warning = runs.delete(state["namespace"], state["name"], state["uid"], timeout)
    if warning:
        Messages(state["owner"]["urn"]).warn(warning)


def _outputs(given: Properties, run: Run) -> Properties:
    seen = {"uid": run.uid, "host": run.host, "lastSeen": gate.phase(run)}
    return {**given, **seen}


def _only_here(state: Properties) -> None:
    if state["host"] != platform.node():
        raise NotAvailable(
            f"TrainJob {state['name']} runs on {state['host']}, not on this machine; run "
            "`pulumi up` or `pulumi destroy` there, or forget it with `pulumi state delete`"
        )


def _notices(given: Properties, filled: Properties, olds: Properties) -> None:
    """What is worth knowing at preview though nothing is wrong."""
    messages = Messages(given["owner"]["urn"])
    if inputs.unchanged(given, olds):
        if kept := inputs.born_with(given, olds):
            messages.info(kept)
    else:
        composition = inputs.composed(filled, filled["name"], inputs.runtime_of(filled))
        for warning in composition.warnings:
            messages.warn(warning)
        for problem in ports.ports_in_use(tuple(filled["rendered"].values())):
            messages.warn(str(problem))
