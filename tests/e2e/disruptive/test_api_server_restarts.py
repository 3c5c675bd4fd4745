"""The API server restarts while a gate waits: the deployment goes on."""

from textwrap import dedent

from from_source.cluster import up
from tests.deploy.project import Stack, read_until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on(seconds=12.0),
         wait_for="complete")
"""


def test_a_gate_goes_on_after_the_api_server_restarted(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(PROGRAM + dedent(JOB))
    server = up.component("kube-apiserver")
    with cli_cluster_stack.start("up", "--yes", "--skip-preview") as process:
        said = read_until("running", process)
        server.stop()
        server.start()
        rest, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0, said + rest
    (jobset,) = namespace.all("jobsets")
    assert jobset["status"]["terminalState"] == "Completed"
