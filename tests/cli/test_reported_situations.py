"""Manifests of people who train, as they were reported: each is told what goes wrong, by the command it is given to."""

from pathlib import Path

import pytest
import yaml

from tests.cli.command import Command

SITUATIONS = Path(__file__).parent / "situations"
CHECKED = {
    "args_without_a_command": ("args-only", "spec.trainer.args[0]: are arguments of no command"),
    "python_on_three_nodes_of_a_torch_runtime": (
        "python-without-torchrun",
        "training-command: TrainJob ml/plainpy: spec.trainer.command[0]: is started on each of 3",
    ),
    "variables_of_v1_that_nothing_replaces": (
        "rank-of-v1",
        "the container has no variable RANK, so that $(RANK) stays as it is",
    ),
    "torchrun_standalone_on_two_nodes": ("standalone", "spec.trainer.command[0]: has --standalone"),
    "a_second_container_that_goes_on": (
        "second-container",
        "side-containers: TrainingRuntime withtb: ",
    ),
    "a_label_for_pods_on_a_trainjob": (
        "istio-on-the-trainjob",
        "metadata.labels[sidecar.istio.io/inject]: is read from pods, and pods do not have it",
    ),
    "an_address_in_two_places": (
        "storage-uri-twice",
        "STORAGE_URI would be fetched, and not spec.initializer.dataset.storageUri",
    ),
    "two_nodes_on_a_claim_of_one_machine": (
        "two-nodes-one-claim",
        "shared-claim: TrainJob ml/tune2: spec.trainer.numNodes: is 2, and the pods share",
    ),
}


def path(name: str) -> str:
    return str(SITUATIONS / f"{name}.yaml")


@pytest.mark.parametrize("situation", CHECKED)
def test_the_check_tells_of(situation: str, cli: Command) -> None:
    name, said = CHECKED[situation]
    done = cli("check", path(name))
    assert said in done.out


def test_an_amount_of_a_device_is_no_second_device(cli: Command) -> None:
    rendered = list(yaml.safe_load_all(cli("render", "-f", path("gpumem")).out))
    (hostfile,) = (each for each in rendered if "hostfile" in (each.get("data") or {}))
    lines = hostfile["data"]["hostfile"].splitlines()
    assert len(lines) == 2
    assert all(each.endswith("slots=1") for each in lines)


@pytest.mark.parametrize("name", ["mpi-operator-names", "lends-to-its-cohort"])
def test_nothing_severe_is_found_in_what_an_operator_completes_or_only_lends(
    name: str, cli: Command
) -> None:
    assert "0 critical, 0 high" in cli("check", path(name)).out


@pytest.mark.parametrize("name", ["mpi-operator-names", "elastic-nproc"])
def test_what_is_migrated_has_the_names_of_trainer(name: str, cli: Command) -> None:
    migrated = cli("migrate", path(name)).out
    cli.write("migrated.yaml", migrated)
    assert "0 critical, 0 high" in cli("check", "migrated.yaml").out
    if name == "elastic-nproc":
        assert "numProcPerNode: 2" in migrated
    else:
        found = yaml.safe_load(migrated.partition("---")[0])
        (launcher, _) = found["spec"]["template"]["spec"]["replicatedJobs"]
        (wait,) = launcher["template"]["spec"]["template"]["spec"]["initContainers"]
        mounts = {each["name"] for each in wait["volumeMounts"]}
        assert mounts == {"mpi-ssh-auth", "mpi-hostfile"}


def test_a_v1_job_as_root_gets_a_key_that_ssh_takes_and_keeps_its_retries(cli: Command) -> None:
    migrated = cli("migrate", path("mpijob-as-root")).out
    cli.write("migrated.yaml", migrated)
    rendered = list(yaml.safe_load_all(cli("render", "-f", "migrated.yaml").out))
    (jobset,) = (each for each in rendered if each["kind"] == "JobSet")
    for job in jobset["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        (key,) = (each["secret"] for each in pod["volumes"] if "secret" in each)
        mode = key.get("defaultMode", 0o644)
        modes = {each["path"]: each.get("mode", mode) for each in key["items"]}
        assert modes["id_rsa"] & 0o077 == 0
        assert "fsGroup" not in (pod.get("securityContext") or {})
        assert job["name"] != "launcher" or job["template"]["spec"]["backoffLimit"] == 3
