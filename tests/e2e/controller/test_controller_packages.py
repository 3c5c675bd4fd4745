"""Packages in pods of a TrainJob that a controller renders, ours and Kubeflow's."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.local.package_index import Package, wheel_folder

TRAINING = """
def train():
    import amber
    print("imported", amber.VERSION, flush=True)

volume = {{"name": "wheels", "hostPath": {{"path": {wheels!r}, "type": "Directory"}}}}
mount = {{"name": "wheels", "mountPath": "/wheels", "readOnly": True}}
pod = {{"volumes": [volume], "containers": [{{"name": "node", "volumeMounts": [mount]}}]}}
node = {{"name": "node", "template": {{"spec": {{"template": {{"spec": pod}}}}}}}}
patch = {{"template": {{"spec": {{"replicatedJobs": [node]}}}}}}

TrainJob("job", runtime="plain-distributed", namespace=NS, wait_for="complete",
         runtime_patches=[{{"manager": "trainer-infra.local/e2e", "trainingRuntimeSpec": patch}}],
         trainer=CustomTrainer(train, packages=["amber==1.0"], wheel_house="/wheels",
                               files={{"/etc/team/key": Secret("planted-value")}},
                               image=place["image"], resources_per_node={{"cpu": "50m"}}))
"""


def test_pods_install_what_the_job_needs(
    controller_stack: Callable[[], Stack], namespace: Namespace, tmp_path: Path
) -> None:
    wheels = wheel_folder(tmp_path / "wheels", [Package("amber")])
    stack = controller_stack()
    stack.run("config", "set", "trainer:packages", str(tmp_path / "cache"))
    stack.program(PROGRAM + dedent(TRAINING.format(wheels=str(wheels))))

    stack.up()

    run = stack.job()["name"]
    lines = stack.trainer("logs", run, "--namespace", namespace.name)
    assert "installed amber==1.0" in lines
    assert "imported 1.0" in lines
    assert len(list((tmp_path / "cache" / namespace.name).glob("*.ready"))) == 1
    stack.unchanged()
