"""Kubeflow Trainer's own controller on the cluster, for the tests of this folder, and its runtimes."""

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from tests.platform.declared_resources import declared_objects
from tools.cluster import images, kubectl, trainer
from trainer_infra import catalog, platform
from trainer_infra.json_values import JSONObject

DEPLOYMENT = "deployment/kubeflow-trainer-controller-manager"
SYSTEM = "kubeflow-system"


def plane_objects() -> list[JSONObject]:
    """What `TrainerControlPlane` declares, in order."""
    folder = str(Path(kubectl.program()).parent)
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], folder])

    def declare() -> None:
        platform.TrainerControlPlane(
            "plane",
            image_pull_policy="IfNotPresent",
            resources={"requests": {"cpu": "20m", "memory": "64Mi"}},
        )

    return list(declared_objects(declare).values())


@pytest.fixture(scope="session")
def trainer_controller(kubeconfig: Path) -> Iterator[None]:
    """The controller, ready, with the runtimes of the catalog; gone afterwards."""
    images.loaded(trainer.IMAGE, trainer.archive())
    system = Namespace(SYSTEM, kubeconfig, kubectl.program())
    objects = plane_objects()
    definitions = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    for each in definitions:
        system.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(each))
    for each in definitions:
        crd = f"crd/{each['metadata']['name']}"
        system.kubectl("wait", "--for=condition=Established", crd, "--timeout=60s")
    for each in objects:
        system.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(each))
    system.kubectl("rollout", "status", DEPLOYMENT, "--timeout=180s")
    for named in catalog.RUNTIMES:
        given = json.dumps(named.runtime().to_wire())
        # The webhook answers a moment after the pod is ready.
        eventually(partial(_is_applied, system, given))
    yield
    system.kubectl("delete", "clustertrainingruntimes", "--all")
    for each in reversed(objects):
        reference = f"{each['kind']}.{each['apiVersion'].rpartition('/')[0]}".rstrip(".")
        place = ("-n", each["metadata"]["namespace"]) if "namespace" in each["metadata"] else ()
        names = (reference, each["metadata"]["name"], "--ignore-not-found", "--wait=false")
        system.kubectl("delete", *names, *place)


def _is_applied(system: Namespace, given: str) -> bool:
    try:
        system.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=given)
    except AssertionError:
        return False
    return True


@pytest.fixture
def controller_stack(
    trainer_controller: None, new_stack: Callable[[str], Stack]
) -> Callable[[str], Stack]:
    """Makes a project whose runs are TrainJobs of the cluster."""
    assert trainer_controller is None

    def make(name: str = "project") -> Stack:
        made = new_stack(name)
        made.run("config", "set", "trainer:engine", "controller")
        return made

    return make
