"""The `trainer-infra` command on a real cluster, which it finds by the stack's own settings."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG, eventually

HELD = """
TrainJob("job", runtime="jax-distributed", namespace=NS, name="job", trainer=on(seconds=20.0),
         suspend=True)
"""
NO_IMAGE = """
trainer = CustomTrainer(train, image="trainer-infra.local/nothing:1")
TrainJob("job", runtime="jax-distributed", namespace=NS, name="job", trainer=trainer)
"""


def start(stack: Stack, *arguments: str) -> "subprocess.Popen[str]":
    """The command in the stack's folder, without waiting for it."""
    return subprocess.Popen(
        [str(Path(sys.executable).parent / "trainer-infra"), *arguments],
        cwd=stack.folder,
        env=dict(stack.env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(text: str) -> list[list[str]]:
    """The cells of each line."""
    return [line.split() for line in text.splitlines()]


def test_a_run_is_held_back_resumed_followed_and_deleted(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    here = ("-n", namespace.name)
    cluster_stack.program(PROGRAM + dedent(HELD))
    cluster_stack.up()
    eventually(lambda: rows(cluster_stack.trainer("get", *here))[1][1:3] == ["job", "Suspended"])

    following = start(cluster_stack, "logs", "-f", "job", *here)
    assert following.stderr is not None
    assert following.stderr.readline() == "job is suspended and waits until you resume it\n"
    assert cluster_stack.trainer("resume", "job", *here) == "job resumed\n"

    def running() -> bool:
        return rows(cluster_stack.trainer("get", *here))[1][2:5:2] == ["Running", "2/2"]

    eventually(running)
    head, *nodes = rows(cluster_stack.trainer("get", "job", *here).split("\n\n")[2])
    assert head[:6] == ["STEP", "POD", "HOST", "PHASE", "RESTARTS", "PROGRESS"]
    hosts = {each["spec"]["nodeName"] for each in namespace.all("pods")}
    assert [each[0] for each in nodes] == ["node", "node"]
    assert {each[2] for each in nodes} == hosts

    out, _ = following.communicate(timeout=300)
    assert following.returncode == 0
    assert sorted(line.split(":")[1] for line in out.splitlines()) == [
        " rank 0 of 2 ",
        " rank 1 of 2 ",
    ]
    described = cluster_stack.trainer("describe", "job", *here).split("\n\n")
    facts = dict(line.split(":", 1) for line in described[0].splitlines())
    assert (facts["Phase"].strip(), facts["Progress"].strip()) == ("Complete", "100%")
    assert facts["Metrics"].strip() == "loss=0.5 accuracy=0.97"

    def history() -> str:
        return cluster_stack.trainer("describe", "job", *here).split("\n\n")[-1]

    # JobSet's controller writes its event after the status.
    eventually(lambda: "AllJobsCompleted" in history())

    assert "job deleted" in cluster_stack.trainer("delete", "job", *here).splitlines()
    assert namespace.names("jobsets") == []
    assert namespace.names("configmaps") == ["kube-root-ca.crt"]
    cluster_stack.run("destroy", "--yes")


def test_a_log_that_is_followed_says_why_no_pod_starts_and_gc_removes_the_run(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    here = ("-n", namespace.name)
    cli_cluster_stack.program(PROGRAM + dedent(NO_IMAGE))
    cli_cluster_stack.up()
    following = start(cli_cluster_stack, "logs", "-f", "job", *here)
    assert following.stderr is not None
    said = next(line for line in following.stderr if line.startswith("job cannot start: "))
    assert "trainer-infra.local/nothing:1" in said
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=LONG)
    assert following.returncode == 130
    run = json.loads(cli_cluster_stack.trainer("get", "job", "-o", "json", *here))
    assert "trainer-infra.local/nothing:1" in run["stuck"]

    (urn,) = [each["urn"] for each in cli_cluster_stack.resources("trainer:TrainJob")]
    cli_cluster_stack.run("state", "delete", urn, "--yes")
    lines = cli_cluster_stack.trainer("gc", "--stack", "test", "--yes").splitlines()
    assert lines[-1] == f"{namespace.name}/job deleted"
    assert namespace.names("jobsets") == []
