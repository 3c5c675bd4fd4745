"""What a Pulumi program constructs for many runs: TrainJobs, and TrainJobsResult, its one gate.

The constructor splits off secrets and packs the code of every member as that of a TrainJob does
(`train_job_resource`); everything else is decided by the provider's check. Rules: design rule 6.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Required, TypedDict, cast

import pulumi
from pulumi import Input

from trainer_infra.deploy import outputs, registration
from trainer_infra.deploy.operations.train_jobs import shared_texts
from trainer_infra.deploy.provider import TrainJobsProvider, TrainJobsResultProvider
from trainer_infra.deploy.registration import AnyRuntime, AnyTrainer, Labels, Outputs, WaitFor
from trainer_infra.deploy.resource_type import TrainerResource
from trainer_infra.deploy.run_result import Metrics, Results
from trainer_infra.deploy.train_job_arguments import Arguments
from trainer_infra.errors import shown
from trainer_infra.trainers.wire_types import InitializerArgs, RuntimePatchArgs

RUN: Final = ("namespace", "name", "uid", "error")
"""What the gate needs of a member; its phase is none of it, so a refresh starts no other wait."""


class TrainJobArgs(TypedDict, total=False):
    """One member of TrainJobs: what TrainJob takes, with the same meaning."""

    runtime: Required[AnyRuntime]
    """Name of a runtime of the catalog, or a runtime: a resource, typed, or in wire form."""
    trainer: AnyTrainer
    """A CustomTrainer, or spec.trainer in wire form."""
    initializer: Input[InitializerArgs | None]
    """spec.initializer in wire form; env values may be Secret."""
    runtime_patches: Input[Sequence[Input[RuntimePatchArgs]] | None]
    """spec.runtimePatches in wire form."""
    suspend: Input[bool | None]
    """True holds the run back, or stops it in place."""
    active_deadline_seconds: Input[int | None]
    """Seconds of running after which the run fails."""
    name: Input[str | None]
    """Name of the run; without it `<resource>-<member>-<8 hex of stack and content>`."""
    namespace: Input[str]
    """Namespace of the run; `default` without it."""
    labels: Labels
    """Labels of the TrainJob."""
    annotations: Labels
    """Annotations of the TrainJob."""
    outputs: Input[Outputs | None]
    """Names of what the run leaves behind, or names with where each is kept."""
    attempt: Input[int]
    """A higher number runs the same content again; 1 without it."""
    adopt: Input[bool]
    """True takes over a run of this name that another resource declared."""
    delete_timeout: Input[float]
    """Seconds that a delete waits for the run to end; 60 without it."""


class TrainJobs(TrainerResource):
    """Many training runs as one resource: all tried at once, each known by its own name."""

    members: pulumi.Output[dict[str, Any]]
    """By member: name, namespace, uid and lastSeen of its run, or `error` when it has none."""
    host: pulumi.Output[str]
    """The machine or the cluster that they run on."""
    owner: pulumi.Output[dict[str, str]]
    """Who declares them: project, stack, URN and backend."""

    def __init__(  # noqa: PLR0913  of each the field's own name
        self,
        resource_name: str,
        jobs: Mapping[str, TrainJobArgs],
        *,
        wait_for: WaitFor | None = None,
        tolerate_failures: Input[int] = 0,
        max_parallel: Input[int | None] = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare runs.

        Args:
            resource_name: Name of the resource, and the beginning of every run's name.
            jobs: What each member runs, by its name: the arguments of TrainJob.
            wait_for: `running` or `complete` makes the deployment wait for all, see `results`.
            tolerate_failures: So many members may fail without failing the deployment, see `failures`.
            max_parallel: At most so many run at once: the deployment starts the next one when one has
                ended, so wait_for has to be `complete`.
            opts: Options of the resource.
        """
        registration.refuse_no_event(wait_for, f"TrainJobs {resource_name}")
        _judge(resource_name, jobs, waits=wait_for is not None)
        where = f"TrainJobs {resource_name}"
        if max_parallel is not None and wait_for != "complete":
            raise pulumi.RunError(
                f"{where}: max_parallel needs the deployment, which starts the next member when one "
                'has ended; add wait_for="complete"'
            )
        if tolerate_failures != 0 and wait_for is None:
            raise pulumi.RunError(
                f"{where}: tolerate_failures is about the gate, which waits for all; "
                'add wait_for="complete"'
            )
        registration.closed_inputs({"resource": resource_name, "jobs": list(jobs)}, where)
        made = {member: _job(args, f"{where}: {member}") for member, args in jobs.items()}
        # It is the gate's as well, and an awaitable is awaited once.
        max_parallel = outputs.plain_inputs(max_parallel)
        secrets = {member: job.pop("secretData", None) for member, job in made.items()}
        jobs_shown, apart = shared_texts.share_texts(made)
        inputs: dict[str, Any] = {
            **registration.stack_settings(),
            "resource": resource_name,
            "owner": registration.owner_inputs(type(self), resource_name, opts),
            "waitFor": wait_for,
            "maxParallel": max_parallel,
            "outputsAt": registration.outputs_root(),
            "jobs": jobs_shown,
            "texts": apart or None,
            "secretData": {name: each for name, each in secrets.items() if each is not None}
            or None,
            "members": None,
            "host": None,
        }
        super().__init__(TrainJobsProvider(), resource_name, inputs, opts)
        self._result: TrainJobsResult | None = None
        if wait_for is not None:
            mine = pulumi.ResourceOptions(parent=self)
            self._result = TrainJobsResult(
                resource_name,
                self,
                until=wait_for,
                tolerate_failures=tolerate_failures,
                max_parallel=max_parallel,
                opts=mine,
            )

    @property
    def result(self) -> "TrainJobsResult":
        """The gate of all members."""
        if self._result is None:
            raise pulumi.RunError(
                f"TrainJobs {self.pulumi_resource_name}: results are known once a gate waits for "
                'the runs; add wait_for="complete"'
            )
        return self._result

    @property
    def failures(self) -> pulumi.Output[dict[str, str]]:
        """By member that failed: why, in one line."""
        return self.result.failures

    @property
    def results(self) -> pulumi.Output[Results]:
        """By member that ended well: how its run ended, and what it reported."""
        batch = self.pulumi_resource_name
        return self.result.results.apply(
            lambda results: {
                name: {**each, "metrics": Metrics(each["metrics"], f"TrainJobs {batch}: {name}")}
                for name, each in (results or {}).items()
            }
        )


class TrainJobsResult(TrainerResource):
    """Waits for all members of a batch, then fails the deployment with those that failed."""

    results: pulumi.Output[Results]
    """By member that ended well: how its run ended, and what it reported."""
    failures: pulumi.Output[dict[str, str]]
    """By member that failed: why, in one line."""

    def __init__(  # noqa: PLR0913  the same
        self,
        resource_name: str,
        jobs: TrainJobs,
        *,
        until: WaitFor = "complete",
        tolerate_failures: Input[int] = 0,
        max_parallel: Input[int | None] = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Wait for every member of `jobs` to be `running` or `complete`."""
        settings = registration.stack_settings()
        # The mocks of a unit test leave out what they are not asked for, here and in `results`.
        members = jobs.members.apply(lambda known: known or {})
        inputs = {
            "batch": jobs.pulumi_resource_name,
            "runs": members.apply(_runs),
            "host": jobs.host,
            "owner": jobs.owner,
            "owners": members.apply(_owners),
            "target": settings["target"],
            "engine": settings["engine"],
            "until": until,
            "tolerateFailures": tolerate_failures,
            "maxParallel": max_parallel,
            "urn": registration.resource_urn(type(self), resource_name, opts),
            "results": None,
            "failures": None,
        }
        closed = registration.closed_inputs(inputs, f"TrainJobsResult {resource_name}")
        super().__init__(TrainJobsResultProvider(), resource_name, closed, opts)


def _runs(members: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: {key: each[key] for key in RUN if key in each} for name, each in members.items()}


def _owners(members: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Whose the runs are that are not the batch's own."""
    return {name: each["owner"] for name, each in members.items() if "owner" in each}


def _judge(resource_name: str, jobs: Mapping[str, TrainJobArgs], *, waits: bool) -> None:
    """Raise for what no check could say better."""
    if not isinstance(jobs, Mapping):
        raise pulumi.RunError(
            f"TrainJobs {resource_name}: jobs must be a mapping of each member's name to its "
            f'arguments, as in {{"lr-1": {{"runtime": ...}}}}, got {shown(jobs)}'
        )
    known = TrainJobArgs.__annotations__
    for member, args in jobs.items():
        where = f"TrainJobs {resource_name}: {member}"
        if not isinstance(member, str):
            raise pulumi.RunError(f'{where}: the name of a member must be text; write "{member}"')
        if not isinstance(args, Mapping):
            raise pulumi.RunError(
                f"{where}: must be a mapping of the arguments of a TrainJob, as in "
                f'{{"runtime": ...}}, got {shown(args)}'
            )
        if unknown := [key for key in args if key not in known]:
            raise pulumi.RunError(
                f"{where}: {unknown[0]!r} is not an argument; use {', '.join(known)}"
            )
        if "runtime" not in args:
            raise pulumi.RunError(f"{where}: runtime is missing; name one of the catalog's")
        if waits and args.get("suspend") is True:
            raise pulumi.RunError(
                f"{where}: wait_for would wait for ever for a job that is suspended; "
                "leave one of the two out"
            )


def _job(args: TrainJobArgs, where: str) -> dict[str, Any]:
    """Inputs of one member, `secretData` among them."""
    given = {key: args.get(key) for key in _ARGUMENTS}
    inputs = {
        "name": args.get("name"),
        "namespace": args.get("namespace", "default"),
        "attempt": args.get("attempt", 1),
        "adopt": args.get("adopt", False),
        "deleteTimeout": args.get("delete_timeout", 60),
        "runtimeResource": isinstance(args["runtime"], TrainerResource) or None,
        "outputs": registration.kept_outputs(args.get("outputs")),
    }
    runtime = registration.known_runtime(args["runtime"])
    job = Arguments(runtime=runtime, **cast("dict[str, Any]", given))
    made = registration.closed_inputs(inputs, where) | registration.job_inputs(job, where)
    return {key: each for key, each in made.items() if each is not None}


_ARGUMENTS: Final = (
    "trainer",
    "initializer",
    "runtime_patches",
    "suspend",
    "active_deadline_seconds",
    "labels",
    "annotations",
)
