"""Schedulers of gangs on a real cluster: all pods of a run start, or none of them does.

Each is installed by `pulumi up` in a stack of its own, schedules a torchtune-like and an MPI run of
engine `provider`, and is taken away.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from from_source.cluster import (
    base_image,
    busybox,
    coscheduling,
    helm,
    images,
    kubectl,
    lws,
    volcano,
)
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs, eventually
from tests.soak.gangs import HERE, MPI, TORCHTUNE, Gang, Slots
from trainer_infra import platform
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.runs.run import COMPLETE

JSON = dict[str, Any]
NODES = frozenset({"node"})

PROGRAM = """
import pulumi
from trainer_infra import platform

# Images are loaded into the node, which has two cores.
here = {"image_pull_policy": "IfNotPresent", "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}}}
pulumi.export("version", platform.COMPONENT("it", **here).version)
"""


@dataclass(frozen=True)
class Scheduler:
    """What is installed, and how a run asks for it."""

    component: type[platform.Coscheduling | platform.Volcano]
    version: str
    archives: Callable[[], Mapping[str, Path]]
    """Its images."""
    refusal: str
    """What it says of a pod whose gang is too small to start."""


SCHEDULERS = {
    "Coscheduling": Scheduler(
        platform.Coscheduling,
        "0.32.7",
        coscheduling.archives,
        "cannot find enough sibling pods, current pods number: 2, minMember of group: {count}",
    ),
    "Volcano": Scheduler(
        platform.Volcano,
        "1.10.0",
        volcano.archives,
        "{count} minAvailable",
    ),
}


@pytest.fixture
def gang_namespace(kubeconfig: Path) -> Iterator[Namespace]:
    """A namespace that is gone before the scheduler of its pods goes."""
    made = Namespace(f"gangs-{secrets.token_hex(3)}", kubeconfig, kubectl.program())
    made.kubectl("create", "namespace", made.name)
    base_image.loaded()
    yield made
    made.kubectl("delete", "namespace", made.name)


@pytest.fixture
def install(
    tmp_path: Path, pulumi_env: dict[str, str], kubeconfig: Path
) -> Iterator[Callable[[str, Mapping[str, Path]], Stack]]:
    """Installs a component, with its images, by `pulumi up`; it is destroyed afterwards."""
    search = f"{pulumi_env['PATH']}:{Path(helm.program()).parent}"
    env = {**pulumi_env, "KUBECONFIG": str(kubeconfig), "PATH": search}
    stack = new_cli_stack(tmp_path / "platform", env)

    def make(component: str, archives: Mapping[str, Path]) -> Stack:
        for name, archive in archives.items():
            images.loaded(name, archive)
        (stack.folder / "__main__.py").write_text(PROGRAM.replace("COMPONENT", component))
        stack.up()
        stack.unchanged()
        return stack

    yield make
    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.resources("") == []


class ReferenceJobs(Jobs):
    """Runs whose gang is counted as the reference counts it."""

    @override
    def deciding(self) -> Behaviour:
        ours = super().deciding()
        return replace(ours, deviations=ours.deviations - {Deviation.Q15})


def scheduled(namespace: Namespace, jobs: frozenset[str]) -> dict[str, JSON]:
    """The condition PodScheduled of each pod of replicated jobs, by the pod's name."""
    label = "jobset.sigs.k8s.io/replicatedjob-name"
    return {
        pod["metadata"]["name"]: condition
        for pod in namespace.all("pods")
        if pod["metadata"].get("labels", {}).get(label) in jobs
        for condition in pod["status"].get("conditions", ())
        if condition["type"] == "PodScheduled"
    }


def start(jobs: Jobs, gang: Gang, scheduler: Scheduler) -> None:
    more = {"initializer": dict(gang.initializer)} if gang.initializer else {}
    jobs.start(gang.on(scheduler.component), gang.trainer(), **more)


@pytest.mark.parametrize("gang", [TORCHTUNE, MPI], ids=lambda each: each.runtime)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_pods_of_a_run_start_together_or_not_at_all(
    name: str,
    gang: Gang,
    install: Callable[[str, Mapping[str, Path]], Stack],
    gang_namespace: Namespace,
) -> None:
    scheduler = SCHEDULERS[name]
    stack = install(name, scheduler.archives())
    assert stack.outputs() == {"version": scheduler.version}
    slots, jobs = Slots(gang_namespace), Jobs(gang_namespace)
    slots.set(gang.slots)
    slots.occupy()

    start(jobs, gang, scheduler)

    def refused() -> dict[str, JSON] | None:
        found = scheduled(gang_namespace, NODES)
        said = {each["reason"] for each in found.values()}
        return found if len(found) == gang.members and said == {"Unschedulable"} else None

    assert {each["status"] for each in eventually(refused).values()} == {"False"}
    slots.leave()
    run = jobs.finished()
    assert run.phase == COMPLETE, run
    assert all(each["status"] == "True" for each in scheduled(gang_namespace, gang.all).values())


@pytest.mark.parametrize("name", SCHEDULERS)
def test_as_the_reference_counts_it_a_gang_with_all_the_room_never_starts(
    name: str,
    install: Callable[[str, Mapping[str, Path]], Stack],
    gang_namespace: Namespace,
) -> None:
    scheduler = SCHEDULERS[name]
    install(name, scheduler.archives())
    Slots(gang_namespace).set(2 * MPI.slots)

    start(ReferenceJobs(gang_namespace), MPI, scheduler)

    def refused() -> bool:
        found = scheduled(gang_namespace, MPI.all)
        words = scheduler.refusal.format(count=MPI.nodes)
        said = [words in each.get("message", "") for each in found.values()]
        return len(said) == MPI.members and all(said)

    eventually(refused)


def test_pods_of_others_are_made_while_volcanos_admission_is_down(
    install: Callable[[str, Mapping[str, Path]], Stack], gang_namespace: Namespace
) -> None:
    install("Volcano", volcano.archives())
    there = ("--namespace", "volcano-system")
    gang_namespace.kubectl("scale", *there, "deployment/volcano-admission", "--replicas=0")
    pods = ("get", *there, "pods", "--selector=app=volcano-admission", "--output=name")
    eventually(lambda: "pod/" not in gang_namespace.kubectl(*pods))

    slots = Slots(gang_namespace)
    slots.set(1)
    slots.occupy()
    overrides = json.dumps({"spec": {"schedulerName": "volcano"}})
    arguments = (f"--image={busybox.IMAGE}", f"--overrides={overrides}")
    refused = gang_namespace.kubectl("run", "own", *arguments, ok=False)
    assert 'failed calling webhook "mutatepod.volcano.sh"' in refused


def test_a_leader_and_its_worker_become_ready(
    install: Callable[[str, Mapping[str, Path]], Stack], gang_namespace: Namespace
) -> None:
    stack = install("LeaderWorkerSetController", {lws.IMAGE: lws.archive()})
    assert stack.outputs() == {"version": "0.9.0"}
    container = {
        "name": "serve",
        "image": busybox.IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
    }
    pod = {"spec": {"containers": [container], "nodeSelector": HERE}}
    group = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "group"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": pod}},
    }
    gang_namespace.kubectl("create", "-f", "-", given=json.dumps(group))

    def available() -> bool:
        (found,) = gang_namespace.all("leaderworkersets")
        conditions = found.get("status", {}).get("conditions", ())
        return "Available" in {each["type"] for each in conditions if each["status"] == "True"}

    eventually(available)
    assert gang_namespace.names("pods") == ["group-0", "group-0-1"]
    gang_namespace.kubectl("delete", "leaderworkersets", "--all")
