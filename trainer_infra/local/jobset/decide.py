"""What happens next in a JobSet that runs as processes: the value, and `decide`, which makes it.

Pure. The supervisor calls it with every try it has seen, starts and stops what it says, and calls
again when a pod changed or `wake_after` has passed. The order is that of JobSet's reconciler: an
ended JobSet stays as it is, then failures, then success, then what is to run.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.local.jobset import (
    backoff_limit,
    failure_policy,
    pod_failure_policy,
    replicated_job,
    startup,
    status,
)
from trainer_infra.local.jobset import job as job_module
from trainer_infra.local.jobset.failure_policy import Fail
from trainer_infra.local.jobset.job import JobFailure, ObservedJob
from trainer_infra.local.jobset.pods import ObservedPod, PodId, PodPhase, Start
from trainer_infra.local.jobset.status import JobCounts


@dataclass(frozen=True, slots=True)
class JobSetState:
    """What is remembered between two calls; `State()` is that of a new JobSet."""

    attempt: int = 0
    """Restarts so far, and resumes after which pods ran anew."""
    run: int = 0
    """The attempt that the last restart began: tries since then count."""
    restarts: int = 0
    """`status.restarts`."""
    restarts_toward_max: int = 0
    """`status.restartsCountTowardsMax`."""
    suspended: bool = False
    """It was suspended at the last call."""
    suspensions: tuple[str, ...] = ()
    """When it was suspended, each time; RFC 3339."""
    conditions: Conditions = ()
    ended: tuple[JobCounts, ...] = ()
    """The last counts of a JobSet that has ended; empty while it goes on."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now."""

    state: JobSetState
    """To be given to the next call."""
    start: tuple[Start, ...]
    """Tries to start, each not before its time."""
    stop: tuple[PodId, ...]
    """Running pods to end now: SIGTERM, then SIGKILL."""
    status: JSONObject
    """JobSet.status in wire form."""
    wake_after: float | None
    """Seconds until the next call is needed even if nothing changes; None for never."""


def decide(
    name: str, spec: JSONObject, pods: tuple[ObservedPod, ...], state: JobSetState, now: datetime
) -> Decision:
    """Decide what to do next, from every try ever started, in start order.

    `name` and `spec` are the JobSet's. Calling it twice with the same input starts nothing twice.
    """
    if state.ended:
        return _over(pods, state)
    state = _resume(spec, pods, state, now)
    jobs = _observe(name, spec, pods, state, now)
    if any(job.failure for job in jobs):
        state = _after_failure(spec, jobs, state, now)
        jobs = _observe(name, spec, pods, state, now)
    elif is_successful(spec, jobs):
        state = _end(spec, jobs, state, (names.JOBSET_COMPLETED, *names.ALL_JOBS_COMPLETED), now)
    return _over(pods, state) if state.ended else _go_on(spec, jobs, pods, state, now)


def _resume(
    spec: JSONObject, pods: tuple[ObservedPod, ...], state: JobSetState, now: datetime
) -> JobSetState:
    """The state after `suspend` was taken back, if it was."""
    if not state.suspended or _suspended(spec):
        return state
    ran = any(pod.attempt == state.attempt for pod in pods)
    state = replace(state, suspended=False, attempt=state.attempt + int(ran))
    return _put(state, (names.JOBSET_SUSPENDED, *names.RESUMED_JOBS), now, on=False)


def _observe(
    name: str, spec: JSONObject, pods: tuple[ObservedPod, ...], state: JobSetState, now: datetime
) -> tuple[ObservedJob, ...]:
    jobs = job_module.observe_job(
        name, replicated_job.read_jobs(spec), pods, run=state.run, attempt=state.attempt
    )
    suspended = _suspended(spec)
    return tuple(replace(job, failure=find_failure(job, now, suspended=suspended)) for job in jobs)


def _after_failure(
    spec: JSONObject, jobs: Sequence[ObservedJob], state: JobSetState, now: datetime
) -> JobSetState:
    """The state of a JobSet that has failed, or of its next attempt."""
    verdict = failure_policy.apply_policy(spec, jobs, state.restarts_toward_max)
    if isinstance(verdict, Fail):
        return _end(spec, jobs, state, (names.JOBSET_FAILED, verdict.reason, verdict.message), now)
    state = replace(
        state,
        attempt=state.attempt + 1,
        run=state.attempt + 1,
        restarts=state.restarts + 1,
        restarts_toward_max=state.restarts_toward_max + int(verdict.counts),
    )
    return _put(state, (names.JOBSET_RESTARTING, verdict.reason, verdict.message), now)


def _end(
    spec: JSONObject,
    jobs: Sequence[ObservedJob],
    state: JobSetState,
    condition: tuple[str, str, str],
    now: datetime,
) -> JobSetState:
    """The state of a JobSet that has ended: Jobs that are not finished are removed."""
    counts = (status.count_jobs(each, jobs) for each in replicated_job.read_jobs(spec))
    state = replace(state, ended=tuple(status.without_pods(each) for each in counts))
    state = _put(state, condition, now)
    completed = condition[0] == names.JOBSET_COMPLETED
    why = names.RESTART_COMPLETED if completed else names.RESTART_FAILED
    return _put(state, (names.JOBSET_RESTARTING, *why), now, on=False)


def _over(pods: tuple[ObservedPod, ...], state: JobSetState) -> Decision:
    """Of a JobSet that has ended: nothing starts again, and what runs is stopped."""
    return Decision(
        state=state,
        start=(),
        stop=tuple(pod.id for pod in pods if pod.phase is PodPhase.RUNNING),
        status=_status(state, state.ended),
        wake_after=None,
    )


def _go_on(
    spec: JSONObject,
    jobs: Sequence[ObservedJob],
    pods: tuple[ObservedPod, ...],
    state: JobSetState,
    now: datetime,
) -> Decision:
    """Of a JobSet that has not ended: what is to run, or to stop while it is suspended."""
    replicated = replicated_job.read_jobs(spec)
    over = {(job.replicated.name, job.replica) for job in jobs if job.finished}
    counts = {each.name: status.count_jobs(each, jobs) for each in replicated}
    reached = startup.is_reached(spec, replicated, counts)
    start: tuple[Start, ...] = ()
    if suspended := _suspended(spec):
        since = () if state.suspended else (now.isoformat(),)
        state = replace(state, suspended=True, suspensions=(*state.suspensions, *since))
        state = _put(state, (names.JOBSET_SUSPENDED, *names.SUSPENDED_JOBS), now)
        state = _put(state, (names.JOBSET_RESTARTING, *names.RESTART_SUSPENDED), now, on=False)
        counts = _suspended_counts(jobs, counts, reached)
    else:
        started = startup.waiting_jobs(replicated, counts) is None
        state = _started(spec, state, now, started=started)
        begun = {job.replicated.name for job in jobs if job.current}
        start = find_starts(spec, jobs, reached | begun, now)
    return Decision(
        state=state,
        start=start,
        stop=tuple(
            pod.id
            for pod in pods
            if pod.phase is PodPhase.RUNNING
            and (suspended or pod.attempt < state.attempt or (pod.id.job, pod.id.replica) in over)
        ),
        status=_status(state, tuple(counts.values())),
        wake_after=None if suspended else _wake_after(jobs, start, now),
    )


def _suspended_counts(
    jobs: Sequence[ObservedJob], counts: dict[str, JobCounts], reached: frozenset[str]
) -> dict[str, JobCounts]:
    """The counts of a suspended JobSet: Jobs that were never created are not suspended."""
    created = [job for job in jobs if job.tries or job.replicated.name in reached]
    return {
        name: status.without_pods(
            each, suspended=sum(job.replicated.name == name and not job.finished for job in created)
        )
        for name, each in counts.items()
    }


def _started(spec: JSONObject, state: JobSetState, now: datetime, *, started: bool) -> JobSetState:
    """The conditions that say how far a start or a restart has come."""
    if started:
        state = _put(state, (names.JOBSET_RESTARTING, *names.RESTARTED_JOBS), now, on=False)
    if not startup.in_order(spec):
        return state
    if started:
        return _put(state, (names.JOBSET_STARTUP_COMPLETED, *names.IN_ORDER_COMPLETED), now)
    return _put(state, (names.JOBSET_STARTUP_IN_PROGRESS, *names.IN_ORDER_IN_PROGRESS), now)


def _wake_after(jobs: Sequence[ObservedJob], start: Sequence[Start], now: datetime) -> float | None:
    """Seconds until the first backoff or deadline ends."""
    deadlines = (deadline_of(job) for job in jobs if not job.finished)
    times = [each for each in deadlines if each is not None]
    times += [each.not_before for each in start if each.not_before > now]
    return (min(times) - now).total_seconds() if times else None


def _suspended(spec: JSONObject) -> bool:
    return spec.get("suspend") is True


def _put(
    state: JobSetState, condition: tuple[str, str, str], now: datetime, *, on: bool = True
) -> JobSetState:
    """The state with a condition: type, reason and message."""
    new = conditions.new_condition(*condition, now, status=on)
    return replace(state, conditions=status.put_condition(state.conditions, new))


def _status(state: JobSetState, counts: Sequence[JobCounts]) -> JSONObject:
    ends = (names.JOBSET_COMPLETED, names.JOBSET_FAILED)
    terminal = [each for each in ends if conditions.is_true(state.conditions, each)]
    return {
        "conditions": list(state.conditions),
        "replicatedJobsStatus": [asdict(each) for each in counts],
        "restarts": state.restarts,
        "restartsCountTowardsMax": state.restarts_toward_max,
        **({"terminalState": terminal[0]} if terminal else {}),
    }


def is_successful(spec: JSONObject, jobs: Sequence[ObservedJob]) -> bool:
    """Whether enough Jobs have succeeded; at least one must have.

    Rule: JobSet v0.12, KEP-135: a `successPolicy` that is not given means All.
    """
    policy = spec.get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or ()
    complete = [job.complete for job in jobs if not targets or job.replicated.name in targets]
    return any(complete) if policy.get("operator") == "Any" else any(complete) and all(complete)


def find_failure(job: ObservedJob, now: datetime, *, suspended: bool) -> JobFailure | None:
    """The failure of a Job; None when it has none. A suspended Job has no deadline.

    The order is the Job controller's.
    """
    if job.complete:
        return None
    return (
        pod_failure_policy.policy_failure(job)
        or backoff_limit.backoff_failure(job)
        or (None if suspended else deadline_failure(job, now))
        or backoff_limit.index_failure(job)
    )


def deadline_of(job: ObservedJob) -> datetime | None:
    """When the Job must have finished; None without a deadline or before it has started.

    The clock of `activeDeadlineSeconds` starts with the first pod of an attempt, so a resume starts
    it again, as the Job controller does.
    """
    seconds = job.replicated.spec.get("activeDeadlineSeconds")
    started = [pod.started for pod in job.current]
    if seconds is None or not started:
        return None
    return min(started) + timedelta(seconds=seconds)


def deadline_failure(job: ObservedJob, now: datetime) -> JobFailure | None:
    """The failure of a Job that was active for too long; None otherwise."""
    at = deadline_of(job)
    return None if at is None or now < at else JobFailure(*names.JOB_DEADLINE, at=at)


def find_starts(
    spec: JSONObject, jobs: Sequence[ObservedJob], allowed: Collection[str], now: datetime
) -> tuple[Start, ...]:
    """The tries to start in Jobs of the replicated jobs `allowed`, in template order.

    The completion indexes of each Job that are due, the lowest first, up to `parallelism`. By
    `failurePolicy.restartStrategy` of JobSet a Job starts again when its own pods of the attempt
    before have ended, with BlockingRecreate when all of them have.
    """
    strategy = (spec.get("failurePolicy") or {}).get("restartStrategy")
    if strategy == "BlockingRecreate" and any(job.leftover for job in jobs):
        return ()
    return tuple(
        start
        for job in jobs
        if job.replicated.name in allowed and not job.finished and not job.leftover
        for start in _starts_of_job(job, now)
    )


def _starts_of_job(job: ObservedJob, now: datetime) -> Iterator[Start]:
    running = {pod.id.index for pod in job.running}
    done = job.succeeded | backoff_limit.failed_indexes(job) | running
    due = [index for index in range(job.replicated.completions) if index not in done]
    for index in due[: max(job.replicated.parallelism - len(running), 0)]:
        yield Start(
            id=PodId(job.replicated.name, job.replica, index),
            attempt=job.attempt,
            retry=sum(pod.id.index == index for pod in job.current),
            not_before=backoff_limit.not_before(job, index, now),
        )
