"""A training that saves its state, the ways in which a cluster disturbs it, and how it must end."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from textwrap import dedent
from typing import Final

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.disruptive.queues import Queues
from tests.e2e.jobs import LONG, eventually
from tests.e2e.test_outputs_and_retry import CLAIM
from trainer_infra import names

Disturbance = Callable[[Stack, Namespace, str], None]
"""What happens to a run, one of whose pods is named."""
STEPS: Final = 30
COUNTING: Final = """
from trainer_infra import Checkpoint

def count(steps):
    import time
    from trainer_infra.checkpoint import Checkpointer
    checkpointer = Checkpointer()
    state = checkpointer.restore({"step": 0, "sum": 0.0})
    begun = state["step"]
    for step in range(begun, steps):
        state = {"step": step + 1, "sum": state["sum"] + step * 0.1}
        checkpointer.step(step + 1, state)
        print("has done", step + 1, flush=True)
        time.sleep(0.5)
    print("began at", begun, "and ends with", state["sum"], flush=True)

TrainJob("job", runtime="plain-distributed", namespace=NS, labels=%r, active_deadline_seconds=%r,
         checkpoint=Checkpoint(uri="pvc://models/{run}", every=%d, save_seconds=5),
         trainer=CustomTrainer(count, func_args={"steps": %d}, image=place["image"], num_nodes=2,
                               resources_per_node={"cpu": "50m"}))
"""


def run_of(pod: str) -> str:
    """The name of a pod's run."""
    return pod.partition("-node-")[0]


def delete_pod(_stack: Stack, namespace: Namespace, pod: str) -> None:
    """As somebody does by hand."""
    namespace.kubectl("delete", "pod", pod, "--wait=false")


def evict_pod(_stack: Stack, namespace: Namespace, pod: str) -> None:
    """As a drain does."""
    asked = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    path = f"/api/v1/namespaces/{namespace.name}/pods/{pod}/eviction"
    namespace.kubectl("create", "--raw", path, "-f", "-", given=json.dumps(asked))


def drain(_stack: Stack, namespace: Namespace, pod: str) -> None:
    """Empty its node of the run's pods, and let pods onto it again."""
    node = namespace.one("pods", pod)["spec"]["nodeName"]
    own = f"{names.JOBSET_NAME_LABEL}={run_of(pod)}"
    options = ("--force", "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=120s")
    namespace.kubectl("drain", node, f"--pod-selector={own}", *options)
    namespace.kubectl("uncordon", node)


def suspend(stack: Stack, namespace: Namespace, pod: str) -> None:
    """As Kueue does when it preempts, and a user for the night."""
    name = run_of(pod)
    stack.trainer("suspend", name, "-n", namespace.name)
    eventually(lambda: not any(run_of(each) == name for each in namespace.names("pods")))
    stack.trainer("resume", name, "-n", namespace.name)


DISTURBANCES: Final[Mapping[str, Disturbance]] = {
    "delete": delete_pod,
    "evict": evict_pod,
    "suspend": suspend,
}

CAUSES: Final[Mapping[Disturbance, str]] = {
    delete_pod: "was deleted",
    evict_pod: "evicted",
    drain: "evicted",
    suspend: "^suspended$",
}
"""What `describe` says of it; of a preemption by Kueue its own words."""


@dataclass(frozen=True)
class Preemption:
    """Another's more urgent JobSet, for which Kueue takes the run's quota, until it is gone."""

    queues: Queues
    quota: str = "150m"
    """Of CPU: enough for the run or for the other one."""

    def __post_init__(self) -> None:
        self.queues.local(
            self.queues.cluster(self.quota, preemption={"withinClusterQueue": "LowerPriority"})
        )
        self.queues.made("WorkloadPriorityClass", self._urgent, {"value": 1_000})

    def __call__(self, _stack: Stack, namespace: Namespace, pod: str) -> None:
        """Take it, and give it back."""
        self.queues.occupant("urgent", self._urgent)
        eventually(lambda: self.queues.runs("urgent") and pod not in namespace.names("pods"))
        namespace.kubectl("delete", "jobset", "urgent")
        eventually(lambda: "urgent" not in namespace.names("jobsets"))

    @property
    def _urgent(self) -> str:
        return f"{self.queues.namespace.name}-urgent"


def train_disturbed(
    stack: Stack, namespace: Namespace, disturb: Disturbance, times: int = 1
) -> None:
    """Run it, disturb it at a step, and see that it goes on from there to the end of an undisturbed run."""
    steps = STEPS * times
    labels = {names.KUEUE_QUEUE_LABEL: "team"} if isinstance(disturb, Preemption) else {}
    name = _submitted(stack, namespace, COUNTING % (labels, None, 10, steps))
    reached = 0
    for _ in range(times):
        reached = eventually(partial(_step_of_all, namespace, reached + 3))
        pod = namespace.names("pods")[0]
        disturb(stack, namespace, pod)
    assert phase_at_end(stack, namespace, name) == "Complete", stack.trainer(
        "describe", name, "-n", namespace.name
    )
    assert max(_begun(stack, namespace, name, steps)) >= reached
    _see_attempts(stack, namespace, name, disturb, times)
    namespace.kubectl("delete", "pods", "--all")
    _see_attempts(stack, namespace, name, disturb, times)


def train_to_deadlines(stack: Stack, namespace: Namespace) -> None:
    """Run it with too short a deadline and retry it until it is complete: each try goes on where the last one was."""
    name = _submitted(stack, namespace, COUNTING % ({}, 12, 1, STEPS))
    tries = 1
    while phase_at_end(stack, namespace, name) == "Failed":
        shown = stack.trainer("describe", name, "-n", namespace.name)
        assert "deadline" in shown, shown
        stack.trainer("retry", name, "-n", namespace.name)
        tries += 1
    assert min(_begun(stack, namespace, name, STEPS)) > 0
    text = stack.trainer("get", name, "-n", namespace.name, "-o", "json")
    found = json.loads(text)["attempts"]
    assert tries > 1
    assert (found["total"], found["lostSteps"]) == (tries, 0), text


def _submitted(stack: Stack, namespace: Namespace, job: str) -> str:
    """Its name."""
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    stack.program(PROGRAM + dedent(job))
    stack.up()
    return str(stack.job()["name"])


def _begun(stack: Stack, namespace: Namespace, name: str, steps: int) -> list[int]:
    """From which step each of the two nodes went on to the end of an undisturbed run."""
    said = stack.trainer("logs", name, "-n", namespace.name)
    ends = re.findall(r"began at (\d+) and ends with ([\d.]+)", said)
    assert [end for _, end in ends] == [str(sum(step * 0.1 for step in range(steps)))] * 2, said
    return [int(begun) for begun, _ in ends]


def _see_attempts(
    stack: Stack, namespace: Namespace, name: str, disturb: Disturbance, times: int
) -> None:
    """What the first node was disturbed by, and that it lost no step."""
    text = stack.trainer("get", name, "-n", namespace.name, "-o", "json")
    found = json.loads(text)["attempts"]
    shown = stack.trainer("describe", name, "-n", namespace.name)
    assert (found["total"], found["lostSteps"]) == (times + 1, 0), shown
    *disturbed, last = found["last"]
    assert (last["cause"], last["last"]) == ("finished", STEPS * times), shown
    for each in disturbed:
        assert re.search(CAUSES.get(disturb, "Kueue"), each["cause"]), shown
        assert each["cause"] in " ".join(shown.split()), shown
    assert f"{times + 1} attempts, 0 steps lost" in shown


def _step_of_all(namespace: Namespace, least: int) -> int:
    """The step that each of the two nodes has done, at least; 0 until it is as many as wanted."""
    done = []
    for pod in namespace.all("pods"):
        if pod["status"].get("phase") == "Running":
            said = namespace.kubectl("logs", pod["metadata"]["name"])
            done.append(max(map(int, re.findall(r"has done (\d+)", said)), default=0))
    found = min(done) if len(done) == 2 else 0
    return found if found >= least else 0


def phase_of(stack: Stack, namespace: Namespace, name: str) -> str:
    """What a run is."""
    run = json.loads(stack.trainer("get", name, "-n", namespace.name, "-o", "json"))
    return str(run["phase"])


def phase_at_end(stack: Stack, namespace: Namespace, name: str, within: float = LONG) -> str:
    """The phase in which a run ends."""
    eventually(lambda: phase_of(stack, namespace, name) in {"Complete", "Failed"}, within)
    return phase_of(stack, namespace, name)
