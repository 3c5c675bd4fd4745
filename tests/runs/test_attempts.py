"""What a report says of attempts, and what ended them by pods, events and Kueue's words."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import pytest

from trainer_infra.lifecycle.conditions import parse_timestamp
from trainer_infra.runs.attempts import Attempts, PastAttempt, attempts_of, metrics_of
from trainer_infra.runs.causes import attempt_ends
from trainer_infra.runs.causes.kueue_workload import Queueing
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.run import Owner, Run, run_from_json, run_to_json
from trainer_infra.runs.view import Observation, current_run

JSON = dict[str, Any]
DAY = "2026-11-30T10"
SAID = {
    "attempts.total": "3",
    "attempts.lost_steps": "7",
    "attempts.effective_percent": "81",
    "attempts.3": f"{DAY}:20:00.500Z +0s 50..50",
    "attempts.2": f"{DAY}:10:00.250Z +300s 40..57 told to end",
    "attempts.1": f"{DAY}:00:00.000Z +200s 0..40",
}
JOBSET = {
    "metadata": {"name": "tj", "uid": "u"},
    "spec": {"replicatedJobs": [{"name": "node"}]},
}
NOW = parse_timestamp(f"{DAY}:30:00Z")


def status(said: Mapping[str, str], *conditions: str) -> JSON:
    metrics = [{"name": name, "value": each} for name, each in {"loss": "0.5", **said}.items()]
    found = [
        {
            "type": each,
            "status": "True",
            "reason": each,
            "message": "",
            "lastTransitionTime": f"{DAY}:25:00Z",
        }
        for each in conditions
    ]
    return {
        "trainerStatus": {"metrics": metrics, "lastUpdatedTime": f"{DAY}:20:00Z"},
        "conditions": found,
    }


NONE = Attempts()


def run(known: Attempts = NONE) -> Run:
    return Run("team", "tj", "u", "here", Owner(), "c", f"{DAY}:00:00Z", "Running", attempts=known)


def seen(said: JSON, **more: Any) -> Run:
    observed = Observation(None, status=said, **more)
    return current_run(run(), replace(observed, jobset=JOBSET), NOW)


def whys(found: Run) -> list[str]:
    return [attempt_ends.why(each, found.attempts, found.phase) for each in found.attempts.last]


def test_a_report_says_them_and_they_are_no_metrics() -> None:
    found = attempts_of(status(SAID)["trainerStatus"])
    assert (found.total, found.lost_steps, found.effective_percent) == (3, 7, 81)
    assert found.last == (
        PastAttempt(1, f"{DAY}:00:00.000Z", f"{DAY}:03:20.000Z", 0, 40, 0, ""),
        PastAttempt(2, f"{DAY}:10:00.250Z", f"{DAY}:15:00.250Z", 40, 57, 7, "told to end"),
        PastAttempt(3, f"{DAY}:20:00.500Z", f"{DAY}:20:00.500Z", 50, 50, 0, ""),
    )
    assert metrics_of(status(SAID)["trainerStatus"]) == {"loss": "0.5"}
    assert (
        found.wholly() == "3 attempts, 7 steps lost, 81% of the time went into steps that were kept"
    )
    assert replace(found, lost_steps=1).briefly() == "3 attempts, 1 step lost"


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"attempts.total": "3"},
        {**SAID, "attempts.lost_steps": "many"},
        {key: each for key, each in SAID.items() if key != "attempts.effective_percent"},
    ],
)
def test_what_says_nothing_whole_says_nothing(said: Mapping[str, str]) -> None:
    assert attempts_of(status(said)["trainerStatus"]) == NONE


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        f"{DAY}:99:00.000Z +1s 0..1",
        f"{DAY}:00:00.000Z +999999999s 0..1 x",
        "9999-12-31T23:59:59.000Z +9s 0..1",
    ],
)
def test_a_line_that_cannot_be_is_left_out_and_the_others_are_read(line: str) -> None:
    found = attempts_of(status({**SAID, "attempts.2": line})["trainerStatus"])
    known = [each.number for each in found.last]
    assert known in ([1, 3], [1, 2, 3])
    assert found.total == 3


def test_a_metric_of_the_program_with_such_a_name_is_its_own() -> None:
    own = {"attempts": "1", "attempts.won": "2", "attempts.1.x": "3"}
    assert metrics_of(status(own)["trainerStatus"]) == {"loss": "0.5", **own}


def test_without_more_the_programs_own_words_stand() -> None:
    assert whys(seen(status(SAID))) == ["ended without a word", "told to end", "goes on"]
    assert whys(seen(status(SAID, "Complete")))[-1] == "finished"
    last = {**SAID, "attempts.3": f"{DAY}:20:00.500Z +9s 50..52 RuntimeError"}
    assert whys(seen(status(last, "Failed")))[-1] == "the program raised RuntimeError"
    assert whys(seen(status(SAID, "Failed")))[-1] == "ended without a word"


def event(kind: str, name: str, reason: str, message: str, at: str, until: str = "") -> JSON:
    about = {"kind": kind, "name": name}
    if reason == "Killing":
        about["fieldPath"] = "spec.containers{node}"
    times = {"firstTimestamp": f"{DAY}:{at}Z", "lastTimestamp": f"{DAY}:{until or at}Z"}
    return {"involvedObject": about, "reason": reason, "message": message, "metadata": {}, **times}


POD = "tj-node-0-0-abcde"
STOPPING = "Stopping container node"
KILLED = event("Pod", POD, "Killing", STOPPING, "14:58")
SUSPENDED = event("Job", "tj-node-0", "Suspended", "Job suspended", "14:59")
PREEMPTED = "Preempted to accommodate a workload (UID: x, JobUID: y) due to prioritization in the ClusterQueue"
GONE = f"pod {POD} was deleted or evicted"
EVENTS = {
    "a pod is deleted": ([KILLED], GONE),
    "a user suspends it, whatever comes first": ([KILLED, SUSPENDED], "suspended"),
    "Kueue stops it": (
        [event("JobSet", "tj", "Stopped", PREEMPTED, "14:58"), KILLED, SUSPENDED],
        f"stopped by Kueue: {PREEMPTED}",
    ),
    "Kueue stops its TrainJob": (
        [SUSPENDED, event("TrainJob", "tj", "Stopped", PREEMPTED, "14:59"), KILLED],
        f"stopped by Kueue: {PREEMPTED}",
    ),
    "the scheduler preempts it": (
        [KILLED, event("Pod", POD, "Preempted", "Preempted by pod x on node n", "14:59")],
        f"pod {POD} was preempted: Preempted by pod x on node n",
    ),
    "a taint": (
        [
            KILLED,
            event("Pod", POD, "TaintManagerEviction", "Marking for deletion Pod team/p", "14:58"),
        ],
        f"pod {POD} was evicted: Marking for deletion Pod team/p",
    ),
    "a Job fails and JobSet ends the other pods": (
        [
            event(
                "Job",
                "tj-node-0",
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
                "14:57",
            ),
            KILLED,
        ],
        "Job tj-node-0 failed: Job has reached the specified backoff limit",
    ),
    "a Job fails because a pod was deleted": (
        [
            KILLED,
            event(
                "Job",
                "tj-node-0",
                "PodFailurePolicy",
                "Container node failed with exit code 143",
                "14:58",
            ),
        ],
        GONE,
    ),
    "one event stands for two suspensions": (
        [event("Job", "tj-node-0", "Suspended", "Job suspended", "03:20", "14:59")],
        "suspended",
    ),
    "one event stands for three, and this is the second": (
        [
            event("Job", "tj-node-0", "Suspended", "Job suspended", "03:20", "25:00"),
            event("Job", "tj-node-0", "SuccessfulDelete", f"Deleted pod: {POD}", "14:58"),
            KILLED,
        ],
        "suspended",
    ),
    "its deadline passes, and its Job deletes a pod": (
        [
            event("Job", "tj-node-0", "SuccessfulDelete", f"Deleted pod: {POD}", "14:57"),
            KILLED,
            event("Job", "tj-node-0", "DeadlineExceeded", "Job was active too long", "14:59"),
        ],
        "its deadline passed",
    ),
    "the deadline of its TrainJob passes": (
        [KILLED, event("TrainJob", "tj", "TrainJobDeadlineExceeded", "too long", "14:58")],
        "its deadline passed",
    ),
    "a Job that was never suspended deletes a pod": (
        [event("Job", "tj-node-0", "SuccessfulDelete", f"Deleted pod: {POD}", "14:57"), KILLED],
        GONE,
    ),
    "of one second the event that was made first": (
        [
            {**KILLED, "metadata": {"resourceVersion": "1000"}},
            {
                **event("Pod", "tj-node-0-1-fghij", "Killing", STOPPING, "14:58"),
                "metadata": {"resourceVersion": "999"},
            },
        ],
        "pod tj-node-0-1-fghij was deleted or evicted",
    ),
    "another run's pod, a probe, and times of other attempts": (
        [
            event("Pod", "tj-2-node-0-0-abcde", "Killing", STOPPING, "14:58"),
            event("Pod", POD, "Killing", "Container node failed liveness probe", "14:58"),
            event("Pod", POD, "Killing", STOPPING, "09:59"),
            event("Pod", POD, "Killing", STOPPING, "21:00"),
        ],
        "told to end",
    ),
}


@pytest.mark.parametrize(("events", "words"), EVENTS.values(), ids=list(EVENTS))
def test_events_tell_what_ended_it(events: Sequence[JSON], words: str) -> None:
    assert whys(seen(status(SAID), events=tuple(events)))[1] == words


def pod(*, labels: Mapping[str, str] | None = None, deleted: str = "", **found: Any) -> JSON:
    metadata: JSON = {"name": POD, "labels": dict(labels or {})}
    if deleted:
        metadata |= {"deletionTimestamp": f"{DAY}:{deleted}Z", "deletionGracePeriodSeconds": 30}
    return {"metadata": metadata, "status": {"phase": "Failed", **found}}


def container(code: int, reason: str = "Error") -> JSON:
    ended = {"exitCode": code, "reason": reason, "finishedAt": f"{DAY}:14:59Z", "message": "s3cret"}
    return {"containerStatuses": [{"name": "node", "state": {"terminated": ended}}]}


def disrupted(reason: str) -> JSON:
    time = f"{DAY}:14:58Z"
    return {
        "conditions": [
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": reason,
                "lastTransitionTime": time,
            }
        ]
    }


PODS = {
    "out of memory": (
        pod(**container(137, "OOMKilled")),
        "container node ran out of memory and was ended",
    ),
    "its own exit code": (pod(**container(3)), f"pod {POD}: container node ended with exit code 3"),
    "killed": (pod(**container(137)), "container node ended with exit code 137: killed (SIGKILL)"),
    "drained": (
        pod(deleted="15:28", **container(143), **disrupted("EvictionByEvictionAPI")),
        "evicted from its node",
    ),
    "preempted": (
        pod(**disrupted("PreemptionByScheduler")),
        "preempted for a pod of higher priority",
    ),
    "its node is lost": (pod(**disrupted("DeletionByTaintManager")), f"pod {POD}: "),
    "deleted": (pod(deleted="15:28", **container(143)), f"pod {POD} was deleted"),
}


@pytest.mark.parametrize(("value", "words"), PODS.values(), ids=list(PODS))
def test_a_pod_that_is_still_there_tells_it(value: JSON, words: str) -> None:
    found = whys(seen(status(SAID), pods=(value,)))
    assert words in found[1]
    assert "s3cret" not in found[1]
    assert (found[0], found[2]) == ("ended without a word", "goes on")


def test_what_kueue_says_of_a_workload_that_it_evicted() -> None:
    condition = {"type": "Evicted", "status": "True", "reason": "Preempted", "message": PREEMPTED}
    workload = {"status": {"conditions": [{**condition, "lastTransitionTime": f"{DAY}:21:00Z"}]}}
    queueing = Queueing(workload=workload)
    found = seen(status(SAID), surroundings=Surroundings(queueing=queueing))
    assert whys(found)[2] == f"stopped by Kueue: {PREEMPTED}"


def test_what_was_known_stays_when_pods_and_events_are_gone_until_more_is_known() -> None:
    first = seen(status(SAID), events=(KILLED,))
    later = current_run(first, Observation(JOBSET, status=status(SAID)), NOW)
    assert whys(later)[1] == GONE
    last = current_run(later, Observation(JOBSET, status=status(SAID), events=(SUSPENDED,)), NOW)
    assert whys(last)[1] == "suspended"


def test_a_run_whose_pods_say_nothing_has_the_attempts_that_were_known() -> None:
    known = attempts_of(status(SAID)["trainerStatus"])
    waiting = current_run(run(known), Observation(JOBSET, status=status({}, "Suspended")), NOW)
    assert waiting.attempts.total == 3
    assert whys(waiting)[2] == "suspended"


@pytest.mark.parametrize(
    ("hours", "said", "phase", "asked"),
    [
        (0, SAID, "Running", True),
        (3, SAID, "Running", False),
        (0, {**SAID, "attempts.2": "?", "attempts.1": "?"}, "Running", False),
        (0, {**SAID, "attempts.2": "?", "attempts.1": "?"}, "Failed", True),
    ],
)
def test_events_are_asked_for_of_an_attempt_that_ended_lately(
    hours: int, said: Mapping[str, str], phase: str, asked: bool
) -> None:
    found = attempts_of(status(said)["trainerStatus"])
    assert attempt_ends.unexplained(found, phase, NOW + timedelta(hours=hours)) is asked
    whole = replace(found, last=tuple(replace(each, cause="x") for each in found.last))
    assert not attempt_ends.unexplained(whole, phase, NOW)


def test_they_are_kept_as_json_and_what_another_release_wrote_is_read() -> None:
    value = run_to_json(seen(status(SAID), events=(KILLED,)))
    assert run_to_json(run_from_json(value)) == value
    assert (
        run_from_json({key: each for key, each in value.items() if key != "attempts"}).attempts
        == NONE
    )
    value["attempts"]["last"][0]["of_a_later_release"] = 1
    assert asdict(run_from_json(value).attempts.last[0]) == asdict(
        seen(status(SAID)).attempts.last[0]
    )
