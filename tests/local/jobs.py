"""Submissions built by hand and rendered by the real pipeline, and ways to look at their runs."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.local import processes, runs
from trainer_infra.render import pipeline
from trainer_infra.runs.run import LogSelection, Owner, Run, Submission

OWNER = Owner("proj", "dev", "urn:pulumi:dev::proj::job")


def replicated_job(name: str, command: Sequence[str], **pod: Any) -> dict[str, Any]:
    """A replicated job with one container `node` and further PodSpec fields."""
    container = {"name": "node", "image": "none", "command": list(command)}
    return {
        "name": name,
        "template": {
            "metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER} if name == "node" else {}},
            "spec": {"template": {"spec": {"containers": [container], **pod}}},
        },
    }


@dataclass
class Job:
    """What a test wants to run; `submission()` is it rendered."""

    command: Sequence[str] = ("true",)
    name: str = "tj"
    nodes: int = 1
    policy: str = "torch"
    env: Sequence[Mapping[str, Any]] = ()
    jobs: Sequence[Mapping[str, Any]] = ()
    jobset: Mapping[str, Any] = field(default_factory=dict)
    pod: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    objects: Sequence[Mapping[str, Any]] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    owner: Owner = OWNER
    content: str = "c1"

    def submission(self) -> Submission:
        template = {
            "replicatedJobs": [*self.jobs, replicated_job("node", ["none"], **self.pod)],
            **self.jobset,
        }
        if self.jobs:
            template["replicatedJobs"][-1]["dependsOn"] = [
                {"name": each["name"], "status": "Complete"} for each in self.jobs
            ]
        runtime = {
            "apiVersion": names.API_VERSION,
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "rt"},
            "spec": {
                "mlPolicy": {"numNodes": self.nodes, self.policy: {}},
                "template": {"spec": template},
            },
        }
        job = {
            "apiVersion": names.API_VERSION,
            "kind": "TrainJob",
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": {
                "runtimeRef": {"name": "rt"},
                "trainer": {"command": list(self.command), "env": list(self.env)},
                **self.spec,
            },
        }
        rendered = pipeline.render(
            TrainJob.model_validate(job), ClusterTrainingRuntime.model_validate(runtime)
        )
        return Submission(
            job=job,
            runtime=runtime,
            objects=(*self.objects, *rendered),
            secret_data=self.secrets,
            packages=tuple(self.packages),
            owner=self.owner,
            content=self.content,
        )

    def submit(self) -> Run:
        return runs.submit(self.submission())


def python(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", code]


def shell(code: str) -> list[str]:
    return ["sh", "-c", code]


def now(run: Run) -> Run:
    found = runs.get(run.namespace, run.name)
    assert found is not None
    return found


def eventually(what: Callable[[], Any], timeout: float = 300) -> Any:
    """The first true value of `what`."""
    until = time.monotonic() + timeout
    while not (value := what()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
    return value


def finished(run: Run, timeout: float = 300) -> Run:
    eventually(lambda: now(run).phase in {"Complete", "Failed"}, timeout)
    return now(run)


def lines(run: Run, pod: str | None = None) -> list[str]:
    return [line for _, line in runs.logs(run.key, LogSelection(pod))]


def log_has(run: Run, text: str) -> Callable[[], bool]:
    return lambda: any(text in line for line in lines(run))


def left(run: Run) -> list[psutil.Process]:
    """Processes of the run that live, supervisor and guard included."""
    return processes.find_everywhere(run.uid)


def supervision(run: Run) -> list[psutil.Process]:
    """The supervisor and the guard of a run, where they live."""
    found = []
    for each in left(run):
        # One that has just ended has no command any more.
        with suppress(psutil.Error):
            if "-m" in each.cmdline():
                found.append(each)
    return found
