"""One TrainJob on a real cluster through its whole life, first by the real Pulumi CLI."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually

ROOT = Path(__file__).resolve().parents[2]

ONE = """
job = TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on({arguments}),
               wait_for="{until}", {more})
pulumi.export("accuracy", job.metrics.apply(lambda metrics: metrics.get("accuracy")))
"""

SECRETS = """
trainer = CustomTrainer(train, num_nodes=2, image=place["image"],
                        env={"TOKEN": Secret("planted-token-value")},
                        func_args={"text": Secret("planted-argument")})
TrainJob("job", runtime="deepspeed-distributed", namespace=NS, trainer=trainer, suspend=True)
"""


def program(arguments: str = "seconds=0.0", more: str = "", until: str = "complete") -> str:
    return PROGRAM + dedent(ONE.format(arguments=arguments, more=more, until=until))


def rendering(stack: Stack) -> dict[str, Any]:
    """What the state has of the only TrainJob's objects."""
    (resource,) = stack.resources("trainer:TrainJob")
    found: dict[str, Any] = resource["inputs"]["rendered"]
    return found


def test_up_runs_pods_and_a_second_up_a_refresh_and_a_destroy_do_what_they_say(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(program())
    shown = cli_cluster_stack.preview()
    assert "JAX_COORDINATOR_ADDRESS" in shown
    assert "trainer-infra.dev/stack" in shown

    cli_cluster_stack.up()

    assert cli_cluster_stack.outputs() == {"accuracy": 0.97}
    job = cli_cluster_stack.job()
    assert re.fullmatch(r"job-[0-9a-f]{8}", job["name"])
    (jobset,) = namespace.all("jobsets")
    rendered = rendering(cli_cluster_stack)["JobSet"]
    assert jobset["metadata"]["name"] == job["name"]
    assert rendered["metadata"]["labels"].items() <= jobset["metadata"]["labels"].items()
    (owner,) = jobset["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ConfigMap", job["uid"])
    assert len(namespace.all("pods")) == 2
    cli_cluster_stack.unchanged()
    cli_cluster_stack.run("refresh", "--yes")
    cli_cluster_stack.unchanged()

    cli_cluster_stack.run("destroy", "--yes")
    assert namespace.names("jobsets") == []
    eventually(lambda: namespace.names("pods") == [])
    eventually(lambda: namespace.names("configmaps") == ["kube-root-ca.crt"])


def test_the_gate_says_in_progress_lines_why_pods_wait_and_how_far_they_are(
    cluster_stack: Stack,
) -> None:
    cluster_stack.program(program("seconds=4.0"))
    shown = cluster_stack.up()
    assert "10%" in shown, shown


def test_another_writer_of_a_field_of_ours_is_drift_and_of_another_field_is_none(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    cluster_stack.program(program("seconds=900.0", until="running"))
    cluster_stack.up()
    name = cluster_stack.job()["name"]
    label = "trainer-infra.dev/run"
    namespace.kubectl("label", "jobset", name, "team=vision")
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()

    namespace.kubectl("label", "--overwrite", "jobset", name, f"{label}=stolen")
    cluster_stack.run("refresh", "--yes")
    preview = cluster_stack.preview()
    assert "drift" in preview
    assert "stolen" in preview
    assert "kubectl" in preview
    cluster_stack.up()

    (jobset,) = namespace.all("jobsets")
    assert jobset["metadata"]["labels"][label] == name
    assert jobset["metadata"]["labels"]["team"] == "vision"
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()


@pytest.mark.soak
def test_of_two_stacks_with_the_same_job_name_the_second_is_refused(
    new_stack: Callable[[str], Stack], namespace: Namespace
) -> None:
    first, second = new_stack("first"), new_stack("second")
    for each in (first, second):
        each.program(program(more='name="digits"'))
    first.up()
    (jobset,) = namespace.all("jobsets")

    refused = second.up(ok=False)

    assert f"{namespace.name}/digits exists and belongs to" in refused
    assert f"of stack test of project first-{namespace.name}" in refused
    assert "Traceback" not in refused
    assert [each["metadata"]["uid"] for each in namespace.all("jobsets")] == [
        jobset["metadata"]["uid"]
    ]
    first.unchanged()


@pytest.mark.soak
def test_a_release_with_another_image_in_its_catalog_replaces_no_finished_job(
    cli_cluster_stack: Stack, namespace: Namespace, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program())
    cli_cluster_stack.up()
    job, born = cli_cluster_stack.job(), rendering(cli_cluster_stack)
    release = tmp_path / "release"
    shutil.copytree(ROOT / "trainer_infra", release / "trainer_infra")
    changed = 0
    for file in (release / "trainer_infra" / "catalog").glob("*.py"):
        text = file.read_text()
        changed += text.count("nvcr.io/nvidia/jax:25.10-py3")
        file.write_text(text.replace("nvcr.io/nvidia/jax:25.10-py3", "nvcr.io/nvidia/jax:99"))
    assert changed == 1
    newer = Stack(cli_cluster_stack.folder, {**cli_cluster_stack.env, "PYTHONPATH": str(release)})

    newer.unchanged()
    assert "keeps the runtime it was born with" in newer.up()

    assert (newer.job(), rendering(newer)) == (job, born)
    assert len(namespace.all("jobsets")) == 1


def test_the_state_of_a_job_with_secrets_holds_no_key_token_or_kubeconfig(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(PROGRAM + dedent(SECRETS))
    cli_cluster_stack.up()
    state = cli_cluster_stack.export()
    keys = next(
        each for each in namespace.all("secrets") if each["type"] == "kubernetes.io/ssh-auth"
    )
    planted = ["planted-token-value", "planted-argument", *keys["data"].values()]
    kubeconfig = namespace.kubeconfig.read_text()
    planted += re.findall(r"(?:token|key-data|certificate-data)\W+([\w+/=.-]{16,})", kubeconfig)
    assert len(planted) > 4
    assert [each for each in planted if each in state] == []
    record = next(
        each for each in namespace.all("configmaps") if "runtime-snapshot" in str(each["metadata"])
    )
    assert [each for each in planted if each in json.dumps(record)] == []
