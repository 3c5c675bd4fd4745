"""What a cluster tells of a run's attempts is kept when its pods, its events and its JobSet are gone."""

import json
from typing import Any

from tests.cluster.submissions import Job
from tests.cluster.world import RUNNING, World, container, ended, eventually
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.runs.run import Run

FIRST, SECOND = "tj-node-0-0-abcde", "tj-node-0-0-fghij"
ATTEMPTS = {
    "attempts.1": "2998-01-01T00:00:00.000Z +60s 0..40 told to end",
    "attempts.2": "2998-01-01T00:02:00.000Z +60s 40..90 ended",
}


def report(total: int) -> str:
    """A pod's last words in its attempt of that number."""
    said = {
        "attempts.total": str(total),
        "attempts.lost_steps": "0",
        "attempts.effective_percent": "66",
    }
    said |= dict(list(ATTEMPTS.items())[:total])
    metrics = [{"name": name, "value": value} for name, value in said.items()]
    return json.dumps({"metrics": metrics, "lastUpdatedTime": f"2998-01-01T00:0{total}:00Z"})


def now(engine: ClusterRuns, job: Job) -> Run:
    found = engine.get(job.namespace, "tj")
    assert found is not None
    return found


def causes(run: Run) -> list[str]:
    return [each.cause for each in run.attempts.last]


def killing(world: World, pod: str) -> None:
    about = {"kind": "Pod", "name": pod, "namespace": world.namespace}
    about["fieldPath"] = "spec.containers{node}"
    said: dict[str, Any] = {"reason": "Killing", "message": "Stopping container node"}
    said |= {"type": "Normal", "firstTimestamp": "2998-01-01T00:00:58Z"}
    said["lastTimestamp"] = said["firstTimestamp"]
    world.make("Event", {"metadata": {"name": f"{pod}.killing"}, "involvedObject": about, **said})


def gone(world: World, kind: str, name: str) -> None:
    world.client.delete(world.path(kind, name))
    eventually(lambda: world.get(kind, name) is None)


def test_attempts_and_their_causes_outlive_pods_events_and_the_jobset(
    either: ClusterRuns, world: World, job: Job
) -> None:
    either.submit(job.submission())
    eventually(lambda: world.get("JobSet", "tj"))
    world.pod(FIRST, phase="Running", containerStatuses=[container(RUNNING)])
    assert now(either, job).attempts.total == 0
    state = ended(143, message=report(1))
    world.pod(FIRST, phase="Running", containerStatuses=[container(state)])
    killing(world, FIRST)
    why = f"pod {FIRST} was deleted or evicted"
    eventually(lambda: causes(now(either, job)) == [why])

    gone(world, "Pod", FIRST)
    gone(world, "Event", f"{FIRST}.killing")
    world.pod(SECOND, phase="Running", containerStatuses=[container(RUNNING)])
    assert causes(now(either, job)) == [why]

    state = ended(0, "Completed", report(2))
    world.pod(SECOND, phase="Succeeded", containerStatuses=[container(state)])
    world.end("Completed")
    eventually(lambda: now(either, job).phase == "Complete")
    gone(world, "Pod", SECOND)
    run = now(either, job)
    assert causes(run) == [why, "finished"]
    assert (run.attempts.total, run.attempts.effective_percent) == (2, 66)
    assert [(each.first, each.last) for each in run.attempts.last] == [(0, 40), (40, 90)]
    assert all(each.metrics == {} for each in run.nodes)
