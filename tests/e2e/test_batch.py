"""Many TrainJobs as one resource, as pods on a real cluster."""

from textwrap import dedent

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually

BATCH = """
from trainer_infra import TrainJobs

def one(**arguments):
    return {{"runtime": tried_once("jax-distributed"), "namespace": NS, "trainer": on(**arguments)}}

jobs = {{f"good-{{index}}": one(text=str(index)) for index in range(4)}}
jobs["bad"] = one(code={code})
sweep = TrainJobs("sweep", jobs, wait_for="complete")
pulumi.export("accuracies", sweep.results.apply(
    lambda results: [each["metrics"]["accuracy"] for each in results.values()]))
"""


def test_a_member_that_fails_is_named_alone_and_repaired_alone(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(PROGRAM + dedent(BATCH.format(code=42)))
    shown = cli_cluster_stack.up(ok=False)
    assert "1 of 5 TrainJobs failed or cannot go on" in shown
    assert "exit code 42" in shown
    assert "Traceback" not in shown
    before = uids(namespace)
    assert len(before) == 5

    cli_cluster_stack.program(PROGRAM + dedent(BATCH.format(code=0)))
    cli_cluster_stack.up()

    assert cli_cluster_stack.outputs() == {"accuracies": [0.97] * 5}
    after = uids(namespace)
    assert len(after) == 5
    assert len(before & after) == 4, "the good ones ran once"
    cli_cluster_stack.unchanged()
    cli_cluster_stack.run("destroy", "--yes")
    eventually(lambda: namespace.names("configmaps") == ["kube-root-ca.crt"])


def uids(namespace: Namespace) -> set[str]:
    return {each["metadata"]["uid"] for each in namespace.all("jobsets")}
