"""The dynamic providers: what the Pulumi engine calls for a TrainJob and for its gate.

Pickled by reference into every resource, so path and names are an API. Decisions are in `inputs`
and `changes`; the run itself is `local.runs`'s. Rules: DESIGN.md, "Rules that make it
trustworthy".
"""

import platform
from collections.abc import Mapping
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult
from typing_extensions import override

from trainer_infra.deploy import boundary, changes, gate, inputs
from trainer_infra.deploy.boundary import Messages, Provider
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Refused
from trainer_infra.local import ports, runs
from trainer_infra.local.runs import Owner, Run, Submission
from trainer_infra.trainers import compose

Properties = dict[str, Any]


class TrainJobProvider(Provider):
    """A TrainJob: submitted at create, never waited for."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        """Validate, and fill in name, runtime and rendering."""
        olds, given = _own(_olds), _own(news)
        problems = list(inputs.settings(given))
        if boundary.unknown(given):
            return CheckResult(given, boundary.failures(tuple(problems)))
        filled = given
        try:
            filled = inputs.checked(given, olds)
        except InvalidInput as error:
            problems += error.problems
        if not problems:
            _notices(given, filled, olds)
        return CheckResult(filled, boundary.failures(tuple(problems)))

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        """Nothing, an update in place, or a new run."""
        return changes.of_train_job(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        """Submit the run exactly as it was shown."""
        given = _own(props)
        composition = inputs.composed(given, given["name"], inputs.runtime_of(given))
        objects = inputs.rendered(composition)
        if compose.digest(boundary.plain(objects)) != compose.digest(given["rendered"]):
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
        )
        run = runs.submit(submission, adopt=bool(given.get("adopt")))
        return CreateResult(f"{run.namespace}/{run.name}", _outputs(given, run))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        """The run as it is now; one of another machine stays as it was last seen."""
        state = _own(props)
        if state["host"] != platform.node():
            return ReadResult(id_, {**state, "lastSeen": f"unknown (on {state['host']})"})
        run = runs.get(state["namespace"], state["name"], state["uid"])
        return ReadResult("", {}) if run is None else ReadResult(id_, _outputs(state, run))

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        """Suspend, resume, or change secret values; the run goes on."""
        olds, news = _own(_olds), _own(_news)
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

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        """End the run and remove what is left of it; gone already is fine."""
        state = _own(_props)
        _only_here(state)
        timeout = float(state.get("deleteTimeout", 60))
        warning = runs.delete(state["namespace"], state["name"], state["uid"], timeout)
        if warning:
            Messages(state["owner"]["urn"]).warn(warning)


class TrainJobResultProvider(Provider):
    """A gate: waits for a TrainJob at create, and knows how it ended."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        """Only the event to wait for can be wrong."""
        given = _own(news)
        problems: tuple[Problem, ...] = ()
        if given.get("until") not in gate.EVENTS:
            problems = (
                Problem(
                    "until",
                    "is no event to wait for",
                    got=given.get("until"),
                    fix=f"use one of {', '.join(gate.EVENTS)}",
                    where="wait_for",
                ),
            )
        return CheckResult(given, boundary.failures(problems))

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        """Another run is another wait."""
        return changes.of_result(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        """Wait; a run that fails fails the deployment."""
        given = _own(props)
        outputs = gate.wait(given, Messages(given["urn"]))
        return CreateResult(f"{given['namespace']}/{given['jobName']}", {**given, **outputs})

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        """The result as it is now; what is not on this machine stays as it was."""
        state = _own(props)
        if state["host"] != platform.node():
            return ReadResult(id_, state)
        run = runs.get(state["namespace"], state["jobName"], state["uid"])
        return ReadResult("", {}) if run is None else ReadResult(id_, state | gate.outputs(run))


def _own(properties: Mapping[str, Any]) -> Properties:
    """The properties as JSON, without the pickled provider that the engine keeps among them."""
    plain: Properties = boundary.plain(properties)
    plain.pop("__provider", None)
    return plain


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
    if kept := inputs.born_with(given, olds):
        messages.info(kept)
    if not inputs.unchanged(given, olds):
        for problem in ports.ports_in_use(tuple(filled["rendered"].values())):
            messages.warn(str(problem))
