"""The node of a run stops answering: the gate names it, and the run is found again."""

from textwrap import dedent

from from_source.cluster import up
from tests.deploy.project import Stack, read_until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG, eventually

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on(seconds={seconds}),
         wait_for="complete")
"""


def ready(namespace: Namespace) -> bool:
    (node,) = namespace.all("nodes")
    (condition,) = (each for each in node["status"]["conditions"] if each["type"] == "Ready")
    return bool(condition["status"] == "True")


def test_a_node_that_goes_not_ready_is_named(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(PROGRAM + dedent(JOB.format(seconds=30.0)))
    kubelet = up.component("kubelet")
    with cli_cluster_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("running", process)
        kubelet.pause()
        try:
            eventually(lambda: not ready(namespace))
            rest, _ = process.communicate(timeout=LONG)
        finally:
            kubelet.resume()
    (node,) = namespace.names("nodes")
    assert process.returncode != 0
    assert node in rest
    assert "does not answer" in rest
    eventually(lambda: ready(namespace))
    cli_cluster_stack.up()
