"""What a Pulumi program constructs: TrainJob, and TrainJobResult, the gate that waits for one.

The constructors split secrets off, pack the code and name the runtime; everything else is decided
by the provider's check. Rules: design rules 1 to 5.
"""

from typing import Any, Final, Unpack

import pulumi

from trainer_infra import names
from trainer_infra.deploy import registration
from trainer_infra.deploy.provider import TrainJobProvider, TrainJobResultProvider
from trainer_infra.deploy.resource_type import TrainerResource, add_gate
from trainer_infra.deploy.run_result import (
    Metrics,
    MetricValue,
    NamedValues,
    comparable,
    output_names,
)
from trainer_infra.deploy.train_job_arguments import TrainJobArgs, WaitFor

OUTPUTS: Final = ("name", "uid", "host", "outputs", "lastSeen")
"""Outputs of a TrainJob that a program may not give, and that it can read all the same."""
RESULTS: Final = (
    "status", "metrics", "nodes", "outputs", "startedAt", "finishedAt", "durationSeconds",
)  # fmt: skip
"""Those of its gate."""


class TrainJob(TrainerResource):
    """One training run, submitted by `pulumi up` and previewed exactly as it will run."""

    namespace: pulumi.Output[str]
    """Namespace of the run."""
    name: pulumi.Output[str]
    """Name of the run: `<resource>-<8 hex of stack and content>` unless it was given."""
    uid: pulumi.Output[str]
    """Identity of the run over all time."""
    host: pulumi.Output[str]
    """The machine or the cluster it runs on."""
    owner: pulumi.Output[dict[str, str]]
    """Who declares it: project, stack, URN and backend."""
    outputs: pulumi.Output[dict[str, str]]
    """Where each of its outputs is kept, by name; with wait_for="complete" the gate's, known when all is there."""
    output_names: tuple[str, ...] | None
    """The names of its outputs; None where Pulumi does not know them yet."""
    last_seen: pulumi.Output[str]
    """Its phase at create and at every refresh since; `status` says how it ended."""

    def __init__(
        self,
        resource_name: str,
        *,
        wait_for: WaitFor | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TrainJobArgs],
    ) -> None:
        """Declare a run.

        Args:
            resource_name: Name of the resource, and the beginning of the run's name.
            wait_for: `running` or `complete` makes the deployment wait for it, see `result`.
            opts: Options of the resource.
            args: What runs, and where: see `TrainJobArgs`.
        """
        where = f"TrainJob {resource_name}"
        registration.refuse_no_event(wait_for, where)
        job = registration.job_arguments(args, where, wait_for, ("wait_for",))
        own: dict[str, Any] = {
            **registration.stack_settings(),
            "resource": resource_name,
            "waitFor": wait_for,
            "outputsAt": registration.outputs_root() if job.get("outputs") is not None else None,
            "packagesAt": registration.packages_cache([job]),
            "owner": registration.owner_inputs(type(self), resource_name, opts),
        }
        closed = registration.closed_inputs(own, where)
        given = {key: value for key, value in closed.items() if value is not None}
        inputs = given | registration.run_inputs(job, where)
        registration.claim_objects(names.TRAIN_JOB, [inputs], self, where)
        super().__init__(TrainJobProvider(), resource_name, dict.fromkeys(OUTPUTS) | inputs, opts)
        self.output_names = output_names(job.get("outputs"))
        self.outputs = NamedValues(self.outputs, "outputs", where, self.output_names)
        self._result: TrainJobResult | None = None
        if wait_for is not None:
            mine = pulumi.ResourceOptions(parent=self)
            self._result = TrainJobResult(resource_name, self, until=wait_for, opts=mine)
            add_gate(self._result, opts)
            if wait_for == "complete":
                # What is built of one, another TrainJob too, waits for it where the deployment does.
                self.outputs = self._result.outputs

    @property
    def result(self) -> "TrainJobResult":
        """The gate of this job."""
        if self._result is None:
            raise pulumi.RunError(
                f"TrainJob {self.pulumi_resource_name}: status, metrics and result are known once "
                'a gate waits for the run; add wait_for="complete"'
            )
        return self._result

    @property
    def status(self) -> pulumi.Output[str]:
        """How the run ended, or that it runs; known to the gate."""
        return self.result.status

    @property
    def metrics(self) -> pulumi.Output[dict[str, float | str]]:
        """The last metrics that node 0 reported, by name; see `TrainJobResult`."""
        where = f"TrainJob {self.pulumi_resource_name}"
        reported = self.result.metrics.apply(lambda each: Metrics(each or {}, where))
        return NamedValues(reported, "metrics", where)


class TrainJobResult(TrainerResource):
    """Waits for a TrainJob, fails the deployment when it failed, and has its results: see `RunResult`."""

    status: pulumi.Output[str]
    metrics: pulumi.Output[dict[str, MetricValue]]
    nodes: pulumi.Output[dict[str, dict[str, MetricValue]]]
    outputs: pulumi.Output[dict[str, str]]
    started_at: pulumi.Output[str]
    finished_at: pulumi.Output[str]
    duration_seconds: pulumi.Output[float]

    def __init__(
        self,
        resource_name: str,
        job: TrainJob,
        *,
        until: WaitFor = "complete",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Wait for `job` to be `running` or `complete`."""
        inputs = {
            "namespace": job.namespace,
            "jobName": job.name,
            "uid": job.uid,
            **registration.gate_inputs(self, resource_name, job, until, opts),
            **dict.fromkeys(RESULTS),
        }
        closed = registration.closed_inputs(inputs, f"TrainJobResult {resource_name}")
        super().__init__(TrainJobResultProvider(), resource_name, closed, opts)
        where = f"TrainJob {job.pulumi_resource_name}"
        self.outputs = NamedValues(self.outputs, "outputs", where, job.output_names)
        self.metrics = NamedValues(self.metrics.apply(comparable), "metrics", where)
        self.nodes = self.nodes.apply(
            lambda nodes: {pod: comparable(each) for pod, each in (nodes or {}).items()}
        )
