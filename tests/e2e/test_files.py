"""Files of Secrets and ConfigMaps in a pod, each at its path."""

from textwrap import dedent

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace

READING = """
def read():
    import os
    print("team:", open("/etc/team/settings.ini").read(), flush=True)
    print("key of", len(open("/etc/team/key.json").read()), sorted(os.listdir("/etc/team")), flush=True)

TrainJob("job", runtime=tried_once("plain-distributed"), namespace=NS, wait_for="complete",
         trainer=CustomTrainer(read, image=place["image"], resources_per_node={"cpu": "50m"}, files={
             "/etc/team/key.json": Secret("planted-value"),
             "/etc/team/settings.ini": {"configMapKeyRef": {"name": "settings", "key": "a"}}}))
"""


def test_a_pod_reads_files_of_the_runs_own_secret_and_of_a_config_map(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    namespace.kubectl("create", "configmap", "settings", "--from-literal=a=blue")
    cluster_stack.program(PROGRAM + dedent(READING))
    assert "planted" not in cluster_stack.up()
    run = cluster_stack.job()["name"]
    lines = cluster_stack.trainer("logs", run, "--namespace", namespace.name)
    assert "team: blue" in lines
    assert "key of 13 ['key.json', 'settings.ini']" in lines
