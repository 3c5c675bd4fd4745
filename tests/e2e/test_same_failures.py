"""The same failure, made on this machine and on a cluster, has the same reason and sentence."""

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Namespace
from tests.e2e.jobs import OWNER, Jobs, eventually
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.local import run_folder, runs
from trainer_infra.local.target import ThisMachine
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.runs import sentences
from trainer_infra.runs.run import FINISHED, Run, RunKey, Submission
from trainer_infra.runs.target import Target
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import content_hash

HUNGRY = """
import os, pathlib
# A control group of its own where there is no kubelet that makes one.
for root in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
    group = pathlib.Path(root, f"hungry-{os.getpid()}")
    limit = "memory.limit_in_bytes" if root.endswith("memory") else "memory.max"
    try:
        group.mkdir()
        (group / limit).write_text(str(64 << 20))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        break
    except OSError:
        continue
print("hungry", flush=True)
kept = [bytearray(os.urandom(1 << 20)) for _ in range(1024)]
"""


@dataclass(frozen=True)
class Failing:
    """One way to fail."""

    command: tuple[str, ...]
    reason: str
    """Of the run."""
    sentence: str
    """What both targets say, as a part of the message."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    trainer: Mapping[str, Any] = field(default_factory=dict)
    failure: str = ""
    """Reason of the pod that ended it; empty where none did."""


POD = "pod tj-node-0-0: "
LIMITED = {"resourcesPerNode": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "50m"}}}
FAILURES = {
    "exit-code": Failing(
        ("sh", "-c", "echo last words; exit 42"),
        "FailedJobs",
        f"{POD}container node ended with exit code 42",
        failure="Error",
    ),
    "killed": Failing(
        # A container's first process cannot be killed from inside.
        ("sh", "-c", "sh -c 'kill -9 $$$$'; exit $$?"),
        "FailedJobs",
        f"{POD}container node ended with exit code 137: killed (SIGKILL)",
        failure="Error",
    ),
    "out-of-memory": Failing(
        ("python3", "-c", HUNGRY),
        "FailedJobs",
        f"{POD}container node ran out of memory and was ended with exit code 137",
        trainer=LIMITED,
        failure="OOMKilled",
    ),
    "missing-command": Failing(
        ("no-such-program",),
        "FailedJobs",
        f"{POD}container node cannot start with exit code 128: ",
        failure="StartError",
    ),
    "deadline": Failing(
        ("sleep", "600"),
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline of 5 s",
        spec={"activeDeadlineSeconds": 5},
    ),
}
FIRST_JOB = "jobset failed due to one or more job failures (first failed job: tj-node-0)"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state folder of the test's own."""
    monkeypatch.setenv(names.STATE_HOME, str(tmp_path / "home"))
    monkeypatch.setenv(names.CACHE_HOME, str(tmp_path / "cache"))
    yield
    for run in runs.list_runs().runs:
        runs.delete(RunKey(run.namespace, run.name, run.uid), timeout=5)
    for root in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        for group in Path(root).glob("hungry-*"):
            # Other tests run beside this one.
            if not Path("/proc", group.name.partition("-")[2]).exists():
                with suppress(OSError):
                    group.rmdir()


def runtime(image: str, pod: Mapping[str, Any] | None = None) -> ClusterTrainingRuntime:
    """The plain runtime with a pod that is tried once, on our image."""
    found = catalog.get("plain-distributed")
    wire = found.to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["backoffLimit"] = 0
    spec = job["template"]["spec"]["template"]["spec"]
    spec.update({"restartPolicy": "Never", **(pod or {})})
    spec["containers"][0]["image"] = image
    return ClusterTrainingRuntime.from_wire(wire)


def start(
    target: Target, namespace: str, on: ClusterTrainingRuntime, failing: Failing
) -> Callable[[], Run]:
    """Submit it; returns what the run is now."""
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "tj", "namespace": namespace},
        "spec": {
            "runtimeRef": {"name": on.metadata.name},
            "trainer": {"command": list(failing.command), "numNodes": 1, **failing.trainer},
            **failing.spec,
        },
    }
    made = compose.compose(job, on, None, (), target.behaviour(PLUGINS, OWNER))
    target.submit(
        Submission(
            job=made.job.to_wire(),
            runtime=on.to_wire(),
            objects=made.objects,
            secret_data={},
            packages=(),
            owner=OWNER,
            content=content_hash(job),
        )
    )

    def now() -> Run:
        found = target.get(namespace, "tj")
        assert found is not None
        return found

    return now


def without_suffix(text: str) -> str:
    """The text with pods as a local run names them: without what tells tries apart."""
    return re.sub(r"\b(tj-node-\d+-\d+)-[a-z0-9]{5}\b", r"\1", text)


def finished(now: Callable[[], Run]) -> Run:
    eventually(lambda: now().phase in FINISHED)
    return now()


def suspended(now: Callable[[], Run]) -> Run | None:
    run = now()
    return run if run.phase == "Suspended" else None


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_one_reason_and_one_sentence_on_both_targets(
    name: str, namespace: Namespace, image: str
) -> None:
    failing = FAILURES[name]
    here = start(ThisMachine(), "default", runtime(image), failing)
    there = start(Jobs(namespace).cluster, namespace.name, runtime(image), failing)
    found = [finished(each) for each in (here, there)]
    assert [(run.phase, run.reason) for run in found] == [("Failed", failing.reason)] * 2
    heads, said = zip(
        *(without_suffix(run.message).partition("; ")[::2] for run in found), strict=True
    )
    if failing.failure:
        assert heads == (FIRST_JOB, FIRST_JOB)
        assert [each.startswith(failing.sentence) for each in said] == [True, True], said
        failures = [run.failure for run in found]
        assert [each and (without_suffix(each.pod), each.reason) for each in failures] == [
            ("tj-node-0-0", failing.failure)
        ] * 2
    else:
        assert heads == (failing.sentence, failing.sentence)
    codes = [each.failure and each.failure.exit_code for each in found]
    assert codes[0] == codes[1]
    advice = [sentences.failure_lines(run).splitlines()[-1] for run in found]
    if name == "missing-command":
        assert advice[0] == advice[1]
        assert advice[0].startswith("there is no program 'no-such-program'")


def test_what_ran_the_pods_is_lost_on_both_targets(namespace: Namespace, image: str) -> None:
    waiting = Failing(("sleep", "600"), "", "")
    here = start(ThisMachine(), "default", runtime(image), waiting)
    # Kubernetes takes away pods of a node that there is not, as of one that is gone.
    lost = runtime(image, {"nodeName": "gone-for-good"})
    there = start(Jobs(namespace).cluster, namespace.name, lost, waiting)
    eventually(lambda: here().phase == "Running")
    identities = run_folder.read_json(run_folder.folder_of("default", "tj").identities) or {}
    os.kill(int(identities["supervisor"]["pid"]), signal.SIGKILL)
    found = [finished(each) for each in (here, there)]
    assert [run.phase for run in found] == ["Failed", "Failed"]
    for run in found:
        assert f"{POD}its node was lost: " in without_suffix(run.message)
        assert run.failure is not None
        assert (without_suffix(run.failure.pod), run.failure.reason) == ("tj-node-0-0", "NodeLost")


def test_a_suspended_run_is_the_same_on_both_targets(namespace: Namespace, image: str) -> None:
    held = Failing(("true",), "", "", spec={"suspend": True})
    found = []
    for target, space in ((ThisMachine(), "default"), (Jobs(namespace).cluster, namespace.name)):
        now = start(target, space, runtime(image), held)
        found.append(eventually(partial(suspended, now)))
    here, there = found
    assert (here.phase, here.waiting_for, here.cause) == (
        there.phase,
        there.waiting_for,
        there.cause,
    )
    (mine,), (theirs,) = (each.status["conditions"] for each in found)
    for key in ("type", "status", "reason", "message"):
        assert mine[key] == theirs[key]
