"""Why a run does not go on, from objects as Kubernetes 1.34 and JobSet 0.12 write them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cluster.world import RUNNING, container, ended, waiting
from trainer_infra import names
from trainer_infra.runs import causes, waiting_cause
from trainer_infra.runs.causes.kueue_workload import Queueing
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.waiting_cause import Cause, Waiting

POD = "tj-node-0-0-abcde"
MADE = {"name": "node", "active": 1, "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
CREATED = "2026-11-22T12:57:02Z"


def jobset(
    *steps: dict[str, Any],
    labels: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Any:
    jobs = steps or ({"name": "node"},)
    metadata = {"name": "tj", "uid": "u1", "labels": labels or {}, "creationTimestamp": CREATED}
    status = {"replicatedJobsStatus": [MADE]} if status is None else status
    return {"metadata": metadata, "spec": {"replicatedJobs": list(jobs), **spec}, "status": status}


def pod(
    *statuses: Any, name: str = POD, step: str = "node", node: str = "n1", **more: Any
) -> dict[str, Any]:
    spec = {"nodeName": node, "containers": [{"name": "node"}], **more.pop("spec", {})}
    return {
        "metadata": {
            "name": name,
            "labels": {names.REPLICATED_JOB_LABEL: step},
            "creationTimestamp": CREATED,
        },
        "spec": spec,
        "status": {"phase": "Pending", "containerStatuses": list(statuses), **more},
    }


def event(reason: str, message: str, kind: str = "Pod", name: str = POD, at: str = "03") -> Any:
    about = {"kind": kind, "name": name, **({"uid": "u1"} if kind == "JobSet" else {})}
    return {
        "metadata": {},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "lastTimestamp": f"2026-11-22T12:57:{at}Z",
    }


def of_job(said: str, at: str = "03") -> Any:
    message = f'Error creating: pods "tj-node-0-0-x" is forbidden: {said}'
    return event("FailedCreate", message, "Job", "tj-node-0", at)


def of_jobset(said: str) -> Any:
    message = f'job "tj-node-0" creation failed with error: {said}'
    return event("JobCreationFailed", message, "JobSet", "tj")


def unplaced(reason: str, message: str) -> Any:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return pod(node="", conditions=[condition])


def found(live: Any, pods: list[Any], *events: Any, **around: Any) -> Waiting | None:
    return causes.waiting(live, tuple(pods), Surroundings(events, **around), datetime.now(UTC))


INITIALIZER = {"name": "dataset-initializer"}
TRAINER = {"name": "node", "dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
READY = pod(container(RUNNING), step="dataset-initializer", phase="Running")
CREATING = pod(container(waiting("ContainerCreating")))
RUNS = pod(container(RUNNING), phase="Running")
CRASHED = pod(
    container(waiting("CrashLoopBackOff", "back-off 10s"), ended(42), restarts=2), phase="Running"
)
CRASHES = f"pod {POD}: container node fails again and again, last with exit code 42"
TWO = {"name": "node", "template": {"spec": {"parallelism": 2}}}
QUEUE = {"kueue.x-k8s.io/queue-name": "research"}
RESERVED = {"type": "QuotaReserved", "status": "False", "message": "insufficient quota for cpu"}
PODS_QUOTA = "exceeded quota: q, requested: pods=1, used: pods={}, limited: pods={}"
JOBS_QUOTA = (
    'jobs.batch "tj-node-0" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, '
    "used: count/jobs.batch={}, limited: count/jobs.batch={}"
)


@pytest.mark.parametrize(
    ("live", "pods", "events", "cause", "sentence"),
    [
        (jobset(), [], [], Cause.STARTING, "pods of node are being made"),
        (
            jobset(status={}),
            [],
            [],
            Cause.JOBSET_CONTROLLER_SILENT,
            "pods of node are being made",
        ),
        (
            jobset(INITIALIZER, TRAINER),
            [READY],
            [],
            Cause.EARLIER_STEP,
            "node waits for dataset-initializer",
        ),
        (
            jobset(status={}),
            [],
            [of_jobset('Job.batch "tj-node-0" is invalid: spec.parallelism: Invalid value: -4')],
            Cause.INVALID,
            (
                'Jobs of node cannot be made: Job.batch "tj-node-0" is invalid: spec.parallelism: '
                "Invalid value: -4"
            ),
        ),
        (
            jobset(status={}),
            [],
            [of_jobset(JOBS_QUOTA.format(0, 0))],
            Cause.QUOTA_TOO_SMALL,
            f"Jobs of node cannot be made: {JOBS_QUOTA.format(0, 0)}",
        ),
        (
            jobset(status={}),
            [],
            [of_jobset(JOBS_QUOTA.format(4, 4))],
            Cause.QUOTA_USED_UP,
            f"Jobs of node cannot be made: {JOBS_QUOTA.format(4, 4)}",
        ),
        (
            jobset(TWO),
            [RUNS],
            [of_job(PODS_QUOTA.format(1, 1))],
            Cause.QUOTA_TOO_SMALL,
            (
                'pods of node cannot be made: pods "tj-node-0-0-x" is forbidden: '
                f"{PODS_QUOTA.format(1, 1)} (the run needs 2 at a time)"
            ),
        ),
        (
            jobset(),
            [CREATING],
            [event("Pulling", 'Pulling image "a"'), event("FailedMount", "no volume", at="04")],
            Cause.MOUNT,
            f"pod {POD}: no volume",
        ),
        (
            jobset(),
            [CREATING],
            [event("Pulling", 'Pulling image "a"')],
            Cause.IMAGE_PULLED,
            f'pulling image "a" for pod {POD}',
        ),
        (
            jobset(),
            [CREATING],
            [
                event(
                    "FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "s" not found'
                )
            ],
            Cause.OBJECT_MISSING,
            f'pod {POD}: MountVolume.SetUp failed for volume "v" : secret "s" not found',
        ),
        (jobset(), [CRASHED], [], Cause.CRASH_LOOP, f"the next try of {CRASHES}"),
        (
            jobset(),
            [unplaced("Unschedulable", "0/1 nodes are available: 1 Too many pods")],
            [],
            Cause.UNSCHEDULABLE,
            f"a place for pod {POD}: 0/1 nodes are available: 1 Too many pods",
        ),
        (
            jobset(),
            [unplaced("Unschedulable", "0/1 nodes are available")],
            [event("Preempted", "Preempted by pod p on node n1", name="tj-node-0-0-12345")],
            Cause.PREEMPTED,
            (
                f"a place for pod {POD}: 0/1 nodes are available; pod tj-node-0-0-12345 before it was "
                "preempted: Preempted by pod p on node n1"
            ),
        ),
    ],
)
def test_the_cause_is_named_with_what_the_cluster_says(
    live: Any, pods: list[Any], events: list[Any], cause: Cause, sentence: str
) -> None:
    waits = found(live, pods, *events)
    assert waits is not None
    assert (waits.cause, waits.sentence) == (cause, sentence)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "error looking up service account ns/nope: serviceaccount x",
            Cause.SERVICE_ACCOUNT_MISSING,
        ),
        ("no PriorityClass with name nope was found", Cause.PRIORITY_CLASS_MISSING),
        ('pod rejected: RuntimeClass "nope" not found', Cause.RUNTIME_CLASS_MISSING),
        ('violates PodSecurity "restricted:latest": runAsNonRoot != true', Cause.POD_SECURITY),
        ("maximum cpu usage per Container is 100m, but limit is 1", Cause.LIMIT_RANGE),
        ("failed quota: q: must specify requests.cpu for: node", Cause.QUOTA_UNANSWERED),
        (
            (
                'admission webhook "vpod.kb.io" denied the request: leader pod not yet scheduled, not '
                "creating follower pod. this is an expected, transient error"
            ),
            Cause.EARLIER_STEP,
        ),
        ('admission webhook "a" denied the request: no', Cause.POLICY),
        ("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no", Cause.POLICY),
        (
            'Internal error occurred: failed calling webhook "red": service "nope" not found',
            Cause.WEBHOOK_UNAVAILABLE,
        ),
        ('jobs.batch "tj-node-0" already exists', Cause.NAME_TAKEN),
        ("etcdserver: request timed out", Cause.NOT_CREATED),
    ],
)
def test_a_refusal_is_told_by_the_api_servers_own_words(said: str, cause: Cause) -> None:
    waits = found(jobset(), [], of_job(said))
    assert waits is not None
    assert waits.cause is cause
    assert waits.sentence.endswith(said)


def test_a_refusal_from_before_the_pods_were_made_is_past() -> None:
    newer = pod(container(RUNNING), phase="Running")
    newer["metadata"]["creationTimestamp"] = "2026-11-22T12:57:30Z"
    assert found(jobset(TWO), [newer], of_job("quota", at="10")) is None
    assert found(jobset(TWO), [newer], of_job("quota", at="31")) is not None


def test_what_jobset_says_of_another_step_is_not_said_of_this_one() -> None:
    other = event(
        "JobCreationFailed", 'job "tj-b-0" creation failed with error: no', "JobSet", "tj"
    )
    waits = found(jobset({"name": "a"}, {"name": "b"}, status={}), [], other)
    assert waits is not None
    assert waits.sentence == "Jobs of b cannot be made: no"


def test_the_jobset_of_an_earlier_run_of_that_name_is_not_this_one() -> None:
    said = of_jobset("no")
    said["involvedObject"]["uid"] = "u0"
    waits = found(jobset(status={}), [], said)
    assert waits is not None
    assert waits.cause is Cause.JOBSET_CONTROLLER_SILENT


def test_nothing_is_said_of_a_run_that_runs_or_whose_step_is_done() -> None:
    assert found(jobset(), [RUNS]) is None
    done = {"replicatedJobsStatus": [{**MADE, "succeeded": 1}]}
    assert found(jobset(status=done), []) is None
    assert found(jobset(TWO), [RUNS]) is None, "a pod that succeeded may be deleted"


def sidecar(state: Any, **spec: Any) -> Any:
    """A pod of which only the sidecar has begun."""
    init = {"name": "side", "restartPolicy": "Always"}
    return pod(
        container(waiting("PodInitializing")),
        spec={"initContainers": [init], **spec},
        initContainerStatuses=[container(state, ended(11), "side", restarts=4)],
    )


@pytest.mark.parametrize(
    "state", [ended(11), RUNNING, waiting("CrashLoopBackOff", "back-off 5m0s")]
)
def test_a_sidecar_that_jobs_do_not_count_is_a_crash_loop_in_each_of_its_states(state: Any) -> None:
    waits = found(jobset(), [sidecar(state)])
    assert waits == Waiting(
        Cause.SIDECAR_CRASH_LOOP,
        f"pod {POD}: container side fails again and again, last with exit code 11; "
        "it was started again 4 times",
    )


def test_a_sidecar_that_the_job_counts_ends_by_itself() -> None:
    waits = found(jobset(), [sidecar(ended(11), restartPolicy="OnFailure")])
    assert waits is not None
    assert waits.cause is Cause.CRASH_LOOP


DONE: Any = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-22T12:58:00Z"}}
TWO_CONTAINERS = {"containers": [{"name": "proxy"}, {"name": "node"}], "restartPolicy": "Never"}
REMEDY = "make it an init container with restartPolicy Always"


def kept(*statuses: Any, step: str = "node", **spec: Any) -> str:
    """What is said of a pod that runs."""
    waits = found(
        jobset({"name": step}),
        [pod(*statuses, step=step, phase="Running", spec={**TWO_CONTAINERS, **spec})],
    )
    assert waits is None or waits.cause is Cause.SIDE_CONTAINER
    return waits.sentence.removeprefix(f"pod {POD}: ") if waits else ""


def test_a_container_that_goes_on_after_the_one_that_trains_is_named_with_the_remedy() -> None:
    ends = container(DONE, name="node")
    said = kept(ends, container(RUNNING, name="proxy"))
    assert said == f"container node ended with 0; proxy keeps the pod: {REMEDY}"
    injected = kept(ends, container(RUNNING, name="proxy"), container(RUNNING, name="istio-proxy"))
    assert "ended with 0; each of istio-proxy and proxy keeps the pod: make it" in injected
    failed = kept(container(ended(3), name="node"), container(RUNNING, name="proxy"))
    assert failed.startswith("container node ended with 3; proxy keeps the pod")


@pytest.mark.parametrize("step", ["dataset-initializer", "launcher", "rows"])
def test_so_it_is_in_every_step_of_a_run(step: str) -> None:
    main = "node" if step == "launcher" else step
    spec = {"containers": [{"name": main}, {"name": "metrics"}]}
    said = kept(container(DONE, name=main), container(RUNNING, name="metrics"), step=step, **spec)
    assert said == f"container {main} ended with 0; metrics keeps the pod: {REMEDY}"


def test_what_ends_by_itself_ends_first_or_is_started_again_keeps_no_pod() -> None:
    assert kept(container(RUNNING, name="node"), container(DONE, name="proxy")) == ""
    assert kept(container(DONE, name="node"), container(DONE, name="proxy")) == ""
    waits = found(
        jobset(),
        [
            pod(
                container(ended(3), name="node"),
                container(RUNNING, name="proxy"),
                phase="Running",
                spec={**TWO_CONTAINERS, "restartPolicy": "OnFailure"},
            )
        ],
    )
    assert waits is not None
    assert waits.cause is Cause.CRASH_LOOP


def test_an_init_container_between_two_tries_is_named() -> None:
    tries = container(ended(11), ended(11), "init", restarts=1)
    waits = found(
        jobset(),
        [pod(container(waiting("PodInitializing")), initContainerStatuses=[tries])],
    )
    assert waits is not None
    assert waits.cause is Cause.CRASH_LOOP
    assert "container init fails again and again, last with exit code 11" in waits.sentence


def test_who_suspended_or_deletes_a_jobset_is_named() -> None:
    held = jobset(suspend=True)
    assert found(held, []) == Waiting(Cause.SUSPENDED, "a resume: its JobSet was suspended")
    workload = {"metadata": {"name": "w"}, "spec": {}, "status": {"conditions": [RESERVED]}}
    queued = found(jobset(labels=QUEUE, suspend=True), [], queueing=Queueing(workload=workload))
    assert queued == Waiting(
        Cause.QUEUE, "admission by Kueue to queue research: insufficient quota for cpu"
    )
    without = found(jobset(labels=QUEUE, suspend=True), [], queueing=Queueing(served=False))
    assert without is not None
    assert without.cause is Cause.QUEUE_CLOSED
    assert "this cluster has no Kueue" in without.sentence
    ends = jobset()
    ends["metadata"] |= {"deletionTimestamp": CREATED, "finalizers": ["example.com/hold"]}
    assert found(ends, []) == Waiting(
        Cause.DELETION,
        "the end of its JobSet, which is being deleted, held by finalizer example.com/hold",
    )


def test_who_may_not_read_nodes_sees_what_was_done_to_the_pod() -> None:
    lost = pod(container(RUNNING), phase="Running", reason="NodeLost")
    assert found(jobset(), [lost]) == Waiting(
        Cause.NODE_LOST, f"pod {POD} is on node n1, which does not answer"
    )


def test_a_node_that_is_not_ready_is_named_with_what_it_said() -> None:
    condition = {
        "type": "Ready",
        "status": "False",
        "message": "container runtime is down",
        "lastTransitionTime": "2026-11-21T12:00:00Z",
    }
    nodes = {"n1": {"status": {"conditions": [condition]}}}
    assert found(jobset(), [CREATING], nodes=nodes) == Waiting(
        Cause.NODE_LOST,
        f"pod {POD} is on node n1, which is not ready since 2026-11-21T12:00:00Z: "
        "container runtime is down",
    )


def test_a_pod_that_has_ended_is_not_stuck_on_its_node() -> None:
    assert found(jobset(), [pod(container(ended(0)), phase="Succeeded")], nodes={"n1": {}}) is None


def test_what_ends_a_gate_soon_is_shown_before_what_may_pass() -> None:
    full = unplaced("Unschedulable", "full")
    no_image = pod(container(waiting("ErrImagePull", "not found")), name="tj-node-0-1-abcde")
    waits = found(jobset(TWO), [full, no_image])
    assert waits is not None
    assert waits.cause is Cause.IMAGE


def at(seconds: int) -> datetime:
    return datetime(2026, 11, 22, 12, 57, 2, tzinfo=UTC).replace(minute=57 + seconds // 60)


def test_the_silence_of_a_controller_is_named_after_a_while_and_is_stuck_after_two_minutes() -> (
    None
):
    quiet = found(jobset(status={}), [])
    assert quiet is not None
    verdict = (
        f"JobSet's controller has done nothing with its JobSet since {CREATED}; see whether it runs"
    )
    assert waiting_cause.cause_shown(quiet, at(0)) == ("pods of node are being made", "")
    assert waiting_cause.cause_shown(quiet, at(60)) == (verdict, "")
    assert waiting_cause.cause_shown(quiet, at(120)) == (verdict, verdict)
    assert waiting_cause.cause_shown(replace(quiet, cause=Cause.UNSCHEDULABLE), at(120)) == (
        verdict,
        "",
    )


def test_the_jobs_of_a_step_without_pods_tell_whose_turn_it_is() -> None:
    metadata = {"name": "tj-node-0", "labels": {names.REPLICATED_JOB_LABEL: "node"}}
    untouched = {"metadata": {**metadata, "creationTimestamp": CREATED}}
    silent = found(jobset(), [], jobs=[untouched])
    assert silent is not None
    assert silent.cause is Cause.JOB_CONTROLLER_SILENT
    assert waiting_cause.cause_shown(silent, at(60))[0] == (
        f"the Job controller has done nothing with Job tj-node-0 since {CREATED}; see whether "
        "kube-controller-manager runs"
    )
    begun = found(jobset(), [], jobs=[{**untouched, "status": {"startTime": CREATED}}])
    assert begun is not None
    assert begun.cause is Cause.NEXT_POD
    deleted = found(jobset(), [], jobs=[])
    assert deleted is not None
    assert (deleted.cause, deleted.verdict) == (Cause.JOBSET_CONTROLLER_SILENT, "")


def test_every_cause_has_a_line_in_the_table_of_gates_in_its_order() -> None:
    assert list(waiting_cause.GATES) == list(Cause)
