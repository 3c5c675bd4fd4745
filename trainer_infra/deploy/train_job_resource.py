"""What a Pulumi program constructs: TrainJob, and TrainJobResult, the gate that waits for one.

The constructors split secrets off, pack the code and name the runtime; everything else is decided
by the provider's check. Rules: design rules 1 to 5.
"""

from collections.abc import Sequence
from typing import Any, Final

import pulumi
from pulumi import Input

from trainer_infra.deploy import registration
from trainer_infra.deploy.provider import TrainJobProvider, TrainJobResultProvider
from trainer_infra.deploy.registration import AnyRuntime, AnyTrainer, Labels, Outputs, WaitFor
from trainer_infra.deploy.resource_type import TrainerResource
from trainer_infra.deploy.run_result import Metrics
from trainer_infra.deploy.train_job_arguments import Arguments
from trainer_infra.trainers.wire_types import InitializerArgs, RuntimePatchArgs

OUTPUTS: Final = ("name", "uid", "host", "outputs", "lastSeen")
"""Outputs of a TrainJob that a program may not give, and that it can read all the same."""


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
    """Where each of its outputs is kept, by name."""
    lastSeen: pulumi.Output[str]  # noqa: N815  names of outputs are those of the wire
    """Its phase at create and at every refresh since; `status` says how it ended."""

    def __init__(  # noqa: PLR0913  every field of a TrainJob is one
        self,
        resource_name: str,
        *,
        runtime: AnyRuntime,
        trainer: AnyTrainer = None,
        initializer: Input[InitializerArgs | None] = None,
        runtime_patches: Input[Sequence[Input[RuntimePatchArgs]] | None] = None,
        suspend: Input[bool | None] = None,
        active_deadline_seconds: Input[int | None] = None,
        name: Input[str | None] = None,
        namespace: Input[str] = "default",
        labels: Labels = None,
        annotations: Labels = None,
        outputs: Input[Outputs | None] = None,
        attempt: Input[int] = 1,
        wait_for: WaitFor | None = None,
        adopt: Input[bool] = False,
        delete_timeout: Input[float] = 60,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a run.

        Args:
            resource_name: Name of the resource, and the beginning of the run's name.
            runtime: Name of a runtime of the catalog, or a runtime: a resource, typed, or in wire form.
            trainer: A CustomTrainer, or spec.trainer in wire form: a mapping with the names of its YAML.
            initializer: spec.initializer in wire form; env values may be Secret.
            runtime_patches: spec.runtimePatches in wire form.
            suspend: True holds the run back, or stops it in place.
            active_deadline_seconds: Seconds of running after which the run fails.
            name: Name of the run; a change of content then deletes the old run first.
            namespace: Namespace of the run.
            labels: Labels of the TrainJob.
            annotations: Annotations of the TrainJob.
            outputs: Names of what the run leaves behind, or names with where each is kept:
                `pvc://CLAIM/PATH`, or a URI; see `trainer_infra.storage`. Kept when the run is gone.
            attempt: A higher number runs the same content again.
            wait_for: `running` or `complete` makes the deployment wait for it, see `result`.
            adopt: True takes over a run of this name that another resource declared.
            delete_timeout: Seconds that a delete waits for the processes to end.
            opts: Options of the resource.
        """
        registration.refuse_no_event(wait_for, f"TrainJob {resource_name}")
        if suspend is True and wait_for is not None:
            raise pulumi.RunError(
                f"TrainJob {resource_name}: wait_for={wait_for!r} would wait for ever for a job "
                "that is suspended; leave one of the two out"
            )
        job = Arguments(
            runtime=registration.known_runtime(runtime),
            trainer=trainer,
            initializer=initializer,
            runtime_patches=runtime_patches,
            suspend=suspend,
            active_deadline_seconds=active_deadline_seconds,
            labels=labels,
            annotations=annotations,
        )
        inputs: dict[str, Any] = {
            **registration.stack_settings(),
            "resource": resource_name,
            "name": name,
            "namespace": namespace,
            "attempt": attempt,
            "adopt": adopt,
            "deleteTimeout": delete_timeout,
            "waitFor": wait_for,
            "outputs": registration.kept_outputs(outputs),
            "outputsAt": registration.outputs_root() if outputs is not None else None,
            "runtimeResource": isinstance(runtime, TrainerResource) or None,
            "owner": registration.owner_inputs(type(self), resource_name, opts),
        }
        where = f"TrainJob {resource_name}"
        inputs = registration.closed_inputs(inputs, where) | registration.job_inputs(job, where)
        # Each input is an Output of the program as well, and costs as much where it is None.
        given = {key: value for key, value in inputs.items() if value is not None}
        super().__init__(TrainJobProvider(), resource_name, dict.fromkeys(OUTPUTS) | given, opts)
        self._result: TrainJobResult | None = None
        if wait_for is not None:
            mine = pulumi.ResourceOptions(parent=self)
            self._result = TrainJobResult(resource_name, self, until=wait_for, opts=mine)

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
    def metrics(self) -> pulumi.Output[Metrics]:
        """The last metrics that node 0 reported, by name; see `TrainJobResult`."""
        where = f"TrainJob {self.pulumi_resource_name}"
        return self.result.metrics.apply(lambda reported: Metrics(reported or {}, where))


class TrainJobResult(TrainerResource):
    """Waits for a TrainJob, fails the deployment when it failed, and has its results."""

    status: pulumi.Output[str]
    """Phase of the run at the end of the wait."""
    metrics: pulumi.Output[dict[str, float | str]]
    """The last metrics that node 0 (of MPI the launcher) reported, by name: numbers, or text that is
    none; where it reported nothing, those of the first node that did."""
    nodes: pulumi.Output[dict[str, dict[str, float | str]]]
    """The same of each node that reported, by the pod's name without the run's: `node-0-1`."""
    outputs: pulumi.Output[dict[str, str]]
    """Where each of the run's outputs is kept, by name."""
    startedAt: pulumi.Output[str]  # noqa: N815  the same
    """RFC 3339 time at which the first pod started."""
    finishedAt: pulumi.Output[str]  # noqa: N815  the same
    """RFC 3339 time at which the run ended; empty while it runs."""
    durationSeconds: pulumi.Output[float]  # noqa: N815  the same
    """Seconds between the two."""

    def __init__(
        self,
        resource_name: str,
        job: TrainJob,
        *,
        until: WaitFor = "complete",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Wait for `job` to be `running` or `complete`."""
        settings = registration.stack_settings()
        inputs = {
            "namespace": job.namespace,
            "jobName": job.name,
            "uid": job.uid,
            "host": job.host,
            "owner": job.owner,
            "target": settings["target"],
            "engine": settings["engine"],
            "until": until,
            "urn": registration.resource_urn(type(self), resource_name, opts),
            "status": None,
            "metrics": None,
            "nodes": None,
            "outputs": None,
            "startedAt": None,
            "finishedAt": None,
            "durationSeconds": None,
        }
        closed = registration.closed_inputs(inputs, f"TrainJobResult {resource_name}")
        super().__init__(TrainJobResultProvider(), resource_name, closed, opts)
