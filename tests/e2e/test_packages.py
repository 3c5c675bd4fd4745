"""Packages of a CustomTrainer in pods: installed over what the image has, once for each cache."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from from_source.cluster import python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import Jobs
from tests.local.package_index import Package, wheel_folder
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.runs.run import COMPLETE
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

TRAIN = f"{Path(__file__).parent}/training/import_packages.py:train"
WHEELS = "/wheels"
LITTLE = {"requests": {"cpu": "100m", "memory": "64Mi"}}


def lock_file(folder: Path, *packages: Package) -> str:
    """A lock of these packages with the hashes of their wheels."""
    lines = [f"{each.name}=={each.version} --hash=sha256:{each.sha256()}" for each in packages]
    (folder / "requirements.lock").write_text("\n".join(lines))
    return str(folder / "requirements.lock")


AMBER, BASALT = Package("amber"), Package("basalt", needs=("amber<2",))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Wheels in a folder of the node."""
    return wheel_folder(tmp_path / "wheels", (AMBER, BASALT))


def mounted(wheels: Path, *jobs: str) -> dict[str, Any]:
    """The runtime patches with which pods find them."""
    volume = {"name": "wheels", "hostPath": {"path": str(wheels), "type": "Directory"}}
    mount = {"name": "wheels", "mountPath": WHEELS, "readOnly": True}
    pod = {"volumes": [volume], "containers": [{"name": "node", "volumeMounts": [mount]}]}
    patched = [{"name": each, "template": {"spec": {"template": {"spec": pod}}}} for each in jobs]
    spec = {"template": {"spec": {"replicatedJobs": patched}}}
    return {"runtimePatches": [{"manager": "trainer-infra.local/e2e", "trainingRuntimeSpec": spec}]}


def counted(lines: list[str], *words: str) -> Mapping[str, int]:
    """How many of our lines begin with each of these words."""
    ours = [line.partition("trainer-infra: ")[2] for line in lines]
    return {word: sum(line.startswith(word) for line in ours) for word in words}


def trained(
    jobs: Jobs, runtime: ClusterTrainingRuntime, patches: Mapping[str, Any], **given: Any
) -> list[str]:
    """What a run has printed that needs the wheels, and succeeded."""
    trainer = CustomTrainer(TRAIN, wheel_house=WHEELS, resources_per_node=LITTLE, **given)
    run = jobs.run(runtime, trainer, **patches)
    lines = jobs.lines()
    assert run.phase == COMPLETE, "\n".join((str(run), *lines))
    return lines


def imports(lines: list[str]) -> list[str]:
    return sorted(line for line in lines if "imported" in line)


@pytest.mark.usefixtures("image")
def test_two_nodes_install_once_and_the_next_run_installs_nothing(
    namespace: Namespace, wheels: Path, tmp_path: Path
) -> None:
    jobs = Jobs(namespace, packages=str(tmp_path / "cache"))
    runtime, patches = runtimes.on_host("plain-distributed"), mounted(wheels, "node")
    lock = lock_file(tmp_path, AMBER, BASALT)

    first = trained(jobs, runtime, patches, packages=lock, num_nodes=2)
    assert counted(first, "installing", "installed", "nothing to install") == {
        "installing": 1,
        "installed": 1,
        "nothing to install": 1,
    }
    assert imports(first) == [f"imported 1.0 1.0 by {rank}" for rank in (0, 1)]
    (found,) = (tmp_path / "cache" / namespace.name).glob("*.ready")
    assert json.loads(found.read_text())["by"].startswith("tj-node-0-")

    jobs.delete()
    second = trained(jobs, runtime, patches, packages=lock, num_nodes=2)
    assert counted(second, "installing", "nothing to install") == {
        "installing": 0,
        "nothing to install": 2,
    }


@pytest.mark.usefixtures("image")
def test_the_ranks_of_mpi_find_packages_in_pods_of_any_user(
    namespace: Namespace, wheels: Path
) -> None:
    runtime = runtimes.on_host("deepspeed-distributed", python.environment("mpi"))
    patches = mounted(wheels, "node", "launcher")

    lines = trained(Jobs(namespace), runtime, patches, packages=["basalt==1.0"], num_nodes=2)

    assert imports(lines) == [f"imported 1.0 1.0 by {rank}" for rank in (0, 1)]
    assert counted(lines, "installed")["installed"] == 2, "each pod has a cache of its own"


@pytest.mark.usefixtures("image")
def test_torchrun_of_the_image_starts_processes_that_find_packages(
    namespace: Namespace, wheels: Path
) -> None:
    runtime = runtimes.on_host("torch-distributed", python.environment("torch"))
    given = {"packages": ["basalt==1.0"], "num_nodes": 1, "num_proc_per_node": 2}

    lines = trained(Jobs(namespace), runtime, mounted(wheels, "node"), **given)

    assert imports(lines) == ["imported 1.0 1.0 by 0"] * 2


FAILING = """
def train():
    import zinc

runtime = tried_once("plain-distributed")
(job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
job["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
TrainJob("job", runtime=runtime, namespace=NS, wait_for="complete",
         trainer=CustomTrainer(train, packages=["zinc==1.0"], wheel_house="/opt/trainer-infra/code",
                               image=place["image"], resources_per_node={"cpu": "50m"}))
"""


def test_the_gate_and_describe_name_packages_that_cannot_be_installed(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    cluster_stack.program(PROGRAM + dedent(FAILING))
    shown = cluster_stack.up(ok=False)
    said = "trainer-infra: the packages zinc==1.0 cannot be installed: pip ended with exit code 1: "
    assert said in shown
    assert "correct packages=, or build the packages into the image" in shown
    assert "each pod installs the packages anew at each start" in shown
    # What a container ended with stands before the last lines of its log.
    assert f"container node ended with exit code 1: {said}" in shown
    run = cluster_stack.job()["name"]
    assert said in cluster_stack.trainer("describe", run, "--namespace", namespace.name)


CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: own}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Mi}}
"""
KEPT = """
def train():
    import basalt
    print("imported", basalt.VERSION, flush=True)

TrainJob("job", runtime=tried_once("plain-distributed"), namespace=NS, wait_for="complete",
         attempt={attempt}, runtime_patches={patches},
         trainer=CustomTrainer(train, packages=["basalt==1.0"], wheel_house="/wheels",
                               image=place["image"], resources_per_node={{"cpu": "50m"}}))
"""


def test_a_stack_keeps_packages_in_a_claim_and_may_move_them(
    cluster_stack: Stack, namespace: Namespace, wheels: Path
) -> None:
    namespace.kubectl("apply", "--filename", "-", given=CLAIM)
    cluster_stack.run("config", "set", "trainer:packages", "pvc://own/packages")
    patches = mounted(wheels, "node")["runtimePatches"]
    said = []
    for attempt in (1, 2):
        cluster_stack.program(PROGRAM + dedent(KEPT.format(attempt=attempt, patches=patches)))
        assert "anew at each start" not in cluster_stack.up()
        run = cluster_stack.job()["name"]
        said.append(cluster_stack.trainer("logs", run, "--namespace", namespace.name))
    assert all("imported 1.0" in each for each in said)
    assert ["installed basalt==1.0" in each for each in said] == [True, False]
    assert ["nothing to install" in each for each in said] == [False, True]

    cluster_stack.run("config", "set", "trainer:packages", "/var/cache/other")
    cluster_stack.unchanged()


HOUSE = """
def build(files):
    import base64, os
    from trainer_infra.storage import output
    for name, text in files.items():
        with open(os.path.join(output("wheels"), name), "wb") as file:
            file.write(base64.b64decode(text))

def train():
    import basalt
    print("imported", basalt.VERSION, flush=True)

common = dict(image=place["image"], resources_per_node={{"cpu": "50m"}})
first = TrainJob("house", runtime=tried_once("plain-distributed"), namespace=NS, wait_for="complete",
                 outputs={{"wheels": "pvc://own/linux"}},
                 trainer=CustomTrainer(build, func_args={{"files": {files!r}}}, **common))
TrainJob("job", runtime=tried_once("plain-distributed"), namespace=NS, wait_for="complete",
         trainer=CustomTrainer(train, packages=["basalt==1.0"], wheel_house="pvc://own/linux", **common),
         opts=pulumi.ResourceOptions(depends_on=[first.result]))
"""


def test_wheels_that_one_job_leaves_in_a_claim_are_those_of_another(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    namespace.kubectl("apply", "--filename", "-", given=CLAIM)
    files = {each.file: base64.b64encode(each.wheel()).decode() for each in (AMBER, BASALT)}
    cluster_stack.program(PROGRAM + dedent(HOUSE.format(files=files)))
    cluster_stack.up()
    run = cluster_stack.job()["name"]
    lines = cluster_stack.trainer("logs", run, "--namespace", namespace.name)
    assert "imported 1.0" in lines
    assert "Looking in links: /opt/trainer-infra/wheels" in lines
