"""Reports of pods to the controller's own server: the status is the last one, the log has all of them."""

import json
from collections.abc import Callable, Iterator
from textwrap import dedent

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.control_plane import ControlPlanes

LOOP = """
def loop():
    import time
    from trainer_infra.callbacks import TrainingLoop
    counted = TrainingLoop(3)
    for step in range(3):
        time.sleep(1.1)
        counted.step(samples=8, loss=1 / (step + 1))
    counted.end()

trainer = CustomTrainer(loop, num_nodes=2, image=place["image"], resources_per_node={"cpu": "50m"})
job = TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=trainer, wait_for="complete")
pulumi.export("loss", job.metrics["loss"])
"""


@pytest.fixture
def status_server(trainer_controller: str, control_planes: ControlPlanes) -> Iterator[None]:
    """The controller takes reports; it is as before for the next test."""
    control_planes.use(implementation=trainer_controller, status_server=True)
    yield
    control_planes.use(implementation=trainer_controller)


# Ours alone: to change the control plane and back takes half a minute.
@pytest.mark.parametrize("trainer_controller", ["builtin"], indirect=True)
@pytest.mark.usefixtures("status_server")
def test_a_server_has_the_last_report_and_the_log_the_history(
    controller_stack: Callable[[], Stack], namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(PROGRAM + dedent(LOOP))
    stack.up()
    assert stack.outputs() == {"loss": pytest.approx(1 / 3)}
    (stored,) = namespace.all("trainjobs")
    assert stored["status"]["trainerStatus"]["progressPercentage"] == 100

    name = stored["metadata"]["name"]
    shown = stack.trainer("get", name, "-n", namespace.name, "--metrics", "-o", "json")
    history = json.loads(shown)["items"]
    assert [each["progress"] for each in history] == [0, 33, 66, 99, 100]
    assert {each["node"] for each in history} == {"node-0-0"}
    plot = stack.trainer("get", name, "-n", namespace.name, "--plot", "progress")
    assert plot.startswith("progress of node-0-0, over time\n")
    assert "trainer-infra-report" not in stack.trainer("logs", name, "-n", namespace.name)
    stack.run("destroy", "--yes")
