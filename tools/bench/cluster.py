"""What `pulumi up` costs on a real cluster, as JSON; run by `make bench-cluster`.

TrainJobs as single resources stand beside the same number of resources that do nothing, so that the
difference is ours. All of them are suspended but in the last two measurements: what pods cost is
Kubernetes' own. The batch is measured with JobSet's controller running, beside a bare writer of the
same objects, whose time is the API server's share. Medians of the rounds.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import base_image, kubectl, up
from tools.bench import project
from tools.bench.project import Project, Took
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import RunKey

COUNTS: Final = (1, 50, 200)
BESIDE: Final = 100
"""TrainJobs that are measured beside as many resources that do nothing, as single ones."""
BATCH: Final = 1_000
WRITERS: Final = 16
"""Concurrent requests of the bare writer."""
AIMS: Final = {
    "ours more than a trivial resource, of 200, each": 0.030,
    f"batch of {BATCH}, up": 30.0,
    "refresh of 200 unchanged": 5.0,
    f"up of {BESIDE}, times that of trivial ones": 2.0,
    f"up of {BESIDE} unchanged, times that of trivial ones": 2.0,
    f"destroy of {BESIDE}, times that of trivial ones": 3.0,
    "image not pulled to up ended": 10.0,
}
TRIVIAL: Final = """
from tools.bench.trivial import Trivial
for index in range({count}):
    Trivial(f"job-{{index}}", index)
"""
HEAD: Final = """
from trainer_infra import TrainJob, TrainJobs
def job(index, suspend=True):
    return {{"runtime": "plain-distributed", "namespace": "{namespace}", "suspend": suspend,
            "trainer": {{"image": "{image}", "command": ["python3", "-c", "print(" + str(index) + ")"],
                        "numNodes": 1}}}}
"""
STEPS: Final = {
    "up of {count}": ("up", "--yes", "--skip-preview"),
    "preview of {count} unchanged": ("preview", "--expect-no-changes"),
    "up of {count} unchanged": ("up", "--yes", "--skip-preview"),
    "destroy of {count}": ("destroy", "--yes", "--skip-preview"),
}
"""What is asked of the CLI, one after the other, of ours and of trivial ones."""
SINGLE: Final = """
for index in range({count}):
    TrainJob(f"job-{{index}}", **job(index))
"""
MANY: Final = """
TrainJobs("batch", {{f"job-{{index}}": job(index) for index in range({count})}})
"""
UNPULLED: Final = """
unpulled = job(0, suspend=False)
unpulled["trainer"]["image"] = "trainer-infra.invalid/nobody/has:1"
TrainJob("job", **unpulled, wait_for="complete")
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a measurement happens."""

    kubeconfig: Path
    image: str
    namespace: str

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl; what it printed."""
        command = [kubectl.program(), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement")
    parser.add_argument("--batch", type=int, default=BATCH, help="members of the batch")
    parser.add_argument("--only", choices=MEASUREMENTS, help="one of the measurements")
    arguments = parser.parse_args()
    kubeconfig, image = up.ensure(), base_image.loaded()
    measured: dict[str, float] = {}
    for name in [arguments.only] if arguments.only else MEASUREMENTS:
        found: list[dict[str, float]] = []
        for index in range(arguments.rounds):
            with _place(kubeconfig, image) as place:
                found.append(MEASUREMENTS[name](place, arguments.batch))
            # It takes minutes: the reader sees that it goes on.
            print(
                f"{name}, round {index + 1}: {json.dumps(found[-1])}", file=sys.stderr, flush=True
            )
        measured |= {
            what: round(statistics.median(each[what] for each in found), 4) for what in found[0]
        }
    report = {
        "unit": "median; seconds where nothing else is said",
        "rounds": arguments.rounds,
        "measured": measured,
        "aims": AIMS,
    }
    print(json.dumps(report, indent=2))


@contextmanager
def _place(kubeconfig: Path, image: str) -> Iterator[Place]:
    place = Place(kubeconfig, image, f"bench-{time.time_ns() % 10**9}")
    place.kubectl("create", "namespace", place.namespace)
    try:
        yield place
    finally:
        place.kubectl("delete", "namespace", place.namespace)


def _project(place: Place) -> AbstractContextManager[Project]:
    configuration = {
        "target": "kubernetes",
        "engine": "provider",
        "kubeconfig": str(place.kubeconfig),
    }
    return project.made(configuration)


def _program(text: str, place: Place, count: int) -> str:
    head = HEAD.format(namespace=place.namespace, image=place.image)
    return (head if "TrainJob" in text else "") + text.format(count=count)


def _singles(place: Place, _batch_size: int) -> dict[str, float]:
    """Single resources: ours, trivial ones, and what an unchanged stack costs."""
    found: dict[str, float] = {}
    for count in COUNTS:
        with _project(place) as stack:
            stack.program(_program(TRIVIAL, place, count))
            found[f"up of {count} trivial"] = trivial = stack.up()
            found[f"preview of {count} trivial, unchanged"] = stack.preview()
        with _project(place) as stack:
            stack.program(_program(SINGLE, place, count))
            found[f"up of {count}"] = ours = stack.up()
            found[f"ours more than a trivial resource, of {count}, each"] = (ours - trivial) / count
            found[f"state of {count}, bytes"] = stack.state_bytes()
            found[f"preview of {count} unchanged"] = stack.preview()
            found[f"refresh of {count} unchanged"] = stack.pulumi(
                "refresh", "--yes", "--skip-preview"
            )
            found[f"destroy of {count}"] = stack.pulumi("destroy", "--yes")
    return found


def _beside(place: Place, _batch_size: int) -> dict[str, float]:
    """The same steps of ours and of as many trivial ones: seconds, processor seconds, how many times."""
    took: dict[str, dict[str, Took]] = {}
    for whose, text in (("trivial", TRIVIAL), ("ours", SINGLE)):
        with _project(place) as stack:
            stack.program(_program(text, place, BESIDE))
            took[whose] = {step: stack.took(*command) for step, command in STEPS.items()}
    found: dict[str, float] = {}
    for step in STEPS:
        name, trivial, ours = step.format(count=BESIDE), took["trivial"][step], took["ours"][step]
        found[name] = ours.wall
        found[f"{name}, trivial"] = trivial.wall
        found[f"{name}, times that of trivial ones"] = ours.wall / trivial.wall
        found[f"{name}, processor"] = ours.processor
        found[f"{name}, trivial, processor"] = trivial.processor
    return found


def _batch(place: Place, count: int) -> dict[str, float]:
    """One resource with many members, and a bare writer of the same objects."""
    with _project(place) as stack:
        stack.program(_program(MANY, place, count))
        took = stack.up()
        size = stack.state_bytes()
        listed = json.loads(
            place.kubectl("get", "jobsets,configmaps", "-n", place.namespace, "-o", "json")
        )
        ours = [each for each in listed["items"] if each["metadata"]["name"].startswith("batch-")]
        destroy = stack.pulumi("destroy", "--yes")
    bare = asyncio.run(_bare(place, [_anew(each) for each in ours]))
    return {
        f"batch of {count}, up": took,
        f"batch of {count}, a bare writer of its objects": bare,
        f"batch of {count}, the API's share": bare / took,
        f"batch of {count}, destroy": destroy,
        f"batch of {count}, state bytes": size,
    }


def _anew(value: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "name": f"bare-{value['metadata']['name']}",
        "namespace": value["metadata"]["namespace"],
    }
    rest = {key: value[key] for key in value if key not in {"metadata", "status"}}
    return {**rest, "metadata": metadata}


async def _bare(place: Place, objects: list[dict[str, Any]]) -> float:
    """Seconds until all objects are created, by as many requests at once as ours uses."""
    client: KubeClient = await http.connect_client(str(place.kubeconfig), None)
    waiting = iter(objects)

    async def writer() -> None:
        for each in waiting:
            await client.create(each, manager="bench")

    started = time.perf_counter()
    await asyncio.gather(*(writer() for _ in range(WRITERS)))
    took = time.perf_counter() - started
    await client.close()
    return took


def _first_pod(place: Place, _batch_size: int) -> dict[str, float]:
    """From the beginning of a submit until the first pod runs, one run at a time."""
    seconds = [_one_pod(place, index) for index in range(10)]
    return {"submit to first pod running": statistics.median(seconds)}


def _one_pod(place: Place, index: int) -> float:
    cluster = Cluster(str(place.kubeconfig), None)
    submission = _submission(place, index, cluster)
    started = time.perf_counter()
    run = cluster.submit(submission)
    chosen = f"jobset.sigs.k8s.io/jobset-name={run.name}"
    took = _first(place, chosen, ".status.phase", {"Running", "Succeeded"}) - started
    # `sleep` is not waited for: it ends when the kubelet kills it, half a minute later.
    cluster.delete(RunKey(run.namespace, run.name, run.uid), timeout=0)
    cluster.close()
    return took


def _failure(place: Place, _batch_size: int) -> dict[str, float]:
    """From where the kubelet cannot pull an image until the `up` that waits for the run has ended."""

    def ended() -> float:
        stack.pulumi("up", "--yes", "--skip-preview", fails=True)
        return time.perf_counter()

    with _project(place) as stack, ThreadPoolExecutor(1) as pool:
        stack.program(_program(UNPULLED, place, 1))
        ending = pool.submit(ended)
        reason = ".status.containerStatuses[*].state.waiting.reason"
        known = _first(place, "jobset.sigs.k8s.io/jobset-name", reason, {"ErrImagePull"})
        found = {"image not pulled to up ended": ending.result() - known}
        stack.pulumi("destroy", "--yes")
    return found


def _first(place: Place, chosen: str, field: str, wanted: set[str]) -> float:
    """When a field of the chosen pods first has one of the values."""
    watching = [
        "get", "pods", "-n", place.namespace, "-l", chosen,
        "--watch", "-o", f"jsonpath={{{field}}}{{'\\n'}}",
    ]  # fmt: skip
    command = [kubectl.program(), "--kubeconfig", str(place.kubeconfig), *watching]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        for line in process.stdout:
            if line.strip() in wanted:
                break
        came = time.perf_counter()
        process.kill()
    return came


def _submission(place: Place, index: int, cluster: Cluster) -> Any:
    from trainer_infra import catalog  # noqa: PLC0415  only this measurement renders
    from trainer_infra.render.plugins import PLUGINS  # noqa: PLC0415  the same
    from trainer_infra.runs.run import Owner, Submission  # noqa: PLC0415  the same
    from trainer_infra.trainers import compose  # noqa: PLC0415  the same

    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": f"first-{index}", "namespace": place.namespace},
        "spec": {
            "runtimeRef": {"name": "plain-distributed"},
            "trainer": {"image": place.image, "command": ["sleep", "30"], "numNodes": 1},
        },
    }
    behaviour = cluster.behaviour(PLUGINS, Owner())
    made = compose.compose(job, catalog.get("plain-distributed"), None, (), behaviour)
    return Submission(
        job=made.job.to_wire(),
        runtime=made.runtime.to_wire(),
        objects=made.objects,
        secret_data={},
        packages=(),
        owner=Owner(),
        content=str(index),
    )


MEASUREMENTS: Final = {
    "singles": _singles,
    "beside": _beside,
    "batch": _batch,
    "first-pod": _first_pod,
    "failure": _failure,
}


if __name__ == "__main__":
    main()
