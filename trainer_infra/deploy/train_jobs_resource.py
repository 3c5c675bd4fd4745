"""What a Pulumi program constructs for many runs: TrainJobs, and TrainJobsResult, its one gate.

The constructor splits off secrets and packs the code of every member as that of a TrainJob does
(`train_job_resource`); everything else is decided by the provider's check. Rules: design rule 6.
"""

from collections.abc import Mapping
from typing import Any, Final

import pulumi
from pulumi import Input

from trainer_infra import names
from trainer_infra.deploy import outputs, registration, run_result
from trainer_infra.deploy.operations.train_jobs import shared_texts
from trainer_infra.deploy.provider import TrainJobsProvider, TrainJobsResultProvider
from trainer_infra.deploy.resource_type import TrainerResource, add_gate
from trainer_infra.deploy.train_job_arguments import TrainJobArgs, WaitFor
from trainer_infra.errors import shown

RUN: Final = ("namespace", "name", "uid", "error")
"""What the gate needs of a member; its phase does not belong to it, so a refresh starts no other wait."""


class TrainJobs(TrainerResource):
    """Many training runs as one resource: all tried at once, each known by its own name."""

    members: pulumi.Output[run_result.Members]
    """By member: name, namespace, uid and last_seen of its run, or `error` when it has none."""
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
        keep_complete: bool = False,
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
            keep_complete: Members whose runs are complete stay as they are when nothing changes but code,
                packages, image or runtime; the others start anew. A raised attempt runs all of them.
            opts: Options of the resource.
        """
        where = f"TrainJobs {resource_name}"
        registration.refuse_no_event(wait_for, where)
        given = _given(where, jobs, wait_for)
        _refuse_without_gate(where, wait_for, tolerate_failures, max_parallel)
        if not isinstance(keep_complete, bool):
            raise pulumi.RunError(
                f"{where}: keep_complete must be True or False, got {shown(keep_complete)}"
            )
        registration.closed_inputs({"resource": resource_name, "jobs": list(given)}, where)
        settings = registration.stack_settings()
        made = {
            member: registration.run_inputs(args, f"{where}: {member}")
            for member, args in given.items()
        }
        registration.claim_objects(names.TRAIN_JOB, made.values(), self, where)
        # It is the gate's as well, and an awaitable is awaited once.
        max_parallel = outputs.plain_inputs(max_parallel)
        secrets = {member: job.pop("secretData", None) for member, job in made.items()}
        jobs_shown, apart = shared_texts.share_texts(made)
        inputs: dict[str, Any] = {
            **settings,
            "resource": resource_name,
            "owner": registration.owner_inputs(type(self), resource_name, opts),
            "waitFor": wait_for,
            "maxParallel": max_parallel,
            "keepComplete": keep_complete or None,
            "outputsAt": registration.outputs_root(),
            "packagesAt": registration.packages_cache(given.values()),
            "jobs": jobs_shown,
            "texts": apart or None,
            "secretData": {key: each for key, each in secrets.items() if each is not None} or None,
            **dict.fromkeys(("members", "host")),
        }
        super().__init__(TrainJobsProvider(), resource_name, inputs, opts)
        self.members = self.members.apply(run_result.with_python_names)
        self._result: TrainJobsResult | None = None
        if wait_for is not None:
            self._result = TrainJobsResult(
                resource_name,
                self,
                until=wait_for,
                tolerate_failures=tolerate_failures,
                max_parallel=max_parallel,
                opts=pulumi.ResourceOptions(parent=self),
            )
            add_gate(self._result, opts)

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
    def results(self) -> pulumi.Output[run_result.Results]:
        """By member that ended well: how its run ended, and what it reported."""
        batch = f"TrainJobs {self.pulumi_resource_name}"
        return self.result.results.apply(
            lambda results: {
                name: each | {"metrics": run_result.Metrics(each["metrics"], f"{batch}: {name}")}
                for name, each in results.items()
            }
        )

    def best(
        self, metric: str, mode: run_result.Mode = "max"
    ) -> pulumi.Output[run_result.BestResult]:
        """The result of the member that is best by a metric, with its name and its value.

        The largest value is the best, or with mode `min` the smallest. Members that failed, and those whose value
        is not a number, are left out.
        """
        batch = f"TrainJobs {self.pulumi_resource_name}"
        return self.results.apply(
            lambda results: run_result.best_result(results, metric, mode, batch)
        )


class TrainJobsResult(TrainerResource):
    """Waits for all members of a batch, then fails the deployment with those that failed."""

    results: pulumi.Output[run_result.Results]
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
        inputs = {
            "batch": jobs.pulumi_resource_name,
            "runs": jobs.members.apply(
                lambda members: {
                    name: {key: value for key, value in each.items() if key in RUN}
                    for name, each in members.items()
                }
            ),
            # Whose the runs are that are not the batch's own.
            "owners": jobs.members.apply(
                lambda members: {n: each["owner"] for n, each in members.items() if "owner" in each}
            ),
            "tolerateFailures": tolerate_failures,
            "maxParallel": max_parallel,
            **registration.gate_inputs(self, resource_name, jobs, until, opts),
            **dict.fromkeys(("results", "failures")),
        }
        closed = registration.closed_inputs(inputs, f"TrainJobsResult {resource_name}")
        super().__init__(TrainJobsResultProvider(), resource_name, closed, opts)
        self.results = self.results.apply(run_result.comparable_results)


def _refuse_without_gate(
    where: str, wait_for: str | None, tolerated: Input[int], max_parallel: Input[int | None]
) -> None:
    """End the program where it says what only a deployment that waits can do."""
    if max_parallel is not None and wait_for != "complete":
        raise pulumi.RunError(
            f"{where}: max_parallel needs the deployment, which starts the next member when one "
            'has ended; add wait_for="complete"'
        )
    if tolerated != 0 and wait_for is None:
        raise pulumi.RunError(
            f"{where}: tolerate_failures is about the gate, which waits for all; "
            'add wait_for="complete"'
        )


def _given(
    batch: str, jobs: Mapping[str, TrainJobArgs], wait_for: str | None
) -> dict[str, TrainJobArgs]:
    """The arguments of every member; what no check could say better ends the program."""
    if not isinstance(jobs, Mapping):
        raise pulumi.RunError(
            f"{batch}: jobs must be a mapping of each member's name to its "
            f'arguments, as in {{"lr-1": {{"runtime": ...}}}}, got {shown(jobs)}'
        )
    given = {}
    for member, args in jobs.items():
        where = f"{batch}: {member}"
        if not isinstance(member, str):
            raise pulumi.RunError(f'{where}: the name of a member must be text; write "{member}"')
        if not isinstance(args, Mapping):
            raise pulumi.RunError(
                f"{where}: must be a mapping of the arguments of a TrainJob, as in "
                f'{{"runtime": ...}}, got {shown(args)}'
            )
        given[member] = registration.job_arguments(args, where, wait_for)
    return given
