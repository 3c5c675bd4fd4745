"""Outputs of a run as volumes and variables, without an engine."""

from typing import Any

import pytest

from tests.trainers.conftest import RUNTIME
from trainer_infra import catalog, names
from trainer_infra.trainers import code_mount, compose, kept_outputs
from trainer_infra.trainers.code import Code

RUN = {"namespace": "team", "run": "digits-1"}
JOB: dict[str, Any] = {
    "apiVersion": names.API_VERSION,
    "kind": names.TRAIN_JOB,
    "metadata": {"name": "digits-1", "namespace": "team"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"env": [{"name": "A", "value": "1"}]},
    },
}


def pod(kept: dict[str, str], runtime: str = "torch-distributed") -> dict[str, Any]:
    """Spec of the training pod, as it is rendered."""
    found = catalog.get(runtime)
    job = {**JOB, "spec": {**JOB["spec"], "runtimeRef": {"name": runtime}}}
    run = compose.compose(kept_outputs.attach_outputs(job, found, kept), found, None, ())
    jobset = next(each for each in run.objects if each["kind"] == "JobSet")
    jobs = jobset["spec"]["replicatedJobs"]
    spec: dict[str, Any] = jobs[-1]["template"]["spec"]["template"]["spec"]
    return spec


def test_a_place_that_is_not_given_is_below_that_of_all_and_of_this_run() -> None:
    given = {"model": "", "logs": "s3://logs/{run}"}
    assert kept_outputs.output_addresses(given, "pvc://models/digits/", RUN) == {
        "logs": "s3://logs/digits-1",
        "model": "pvc://models/digits/team/digits-1/model",
    }


def test_the_order_in_which_outputs_are_named_changes_nothing() -> None:
    kept = {"model": "pvc://models", "logs": "pvc://logs", "table": "gs://tables/x"}
    assert pod(kept) == pod(dict(reversed(kept.items())))


def test_outputs_are_mounted_and_named_in_variables() -> None:
    kept = {
        "best-model": "pvc://my.models/a/b",
        "logs": "pvc://my.models",
        "table": "gs://tables/x",
    }
    spec = pod(kept)
    volumes = [each for each in spec["volumes"] if "persistentVolumeClaim" in each]
    # The kubelet starts no pod that has a claim by two volumes.
    assert volumes == [
        {
            "name": "trainer-infra-output-best-model",
            "persistentVolumeClaim": {"claimName": "my.models"},
        }
    ]
    (container,) = spec["containers"]
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert mounts["/opt/trainer-infra/outputs/best-model"]["subPath"] == "a/b"
    assert "subPath" not in mounts["/opt/trainer-infra/outputs/logs"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert env["A"] == "1"
    assert env["TRAINER_INFRA_OUTPUT_BEST_MODEL"] == "/opt/trainer-infra/outputs/best-model"
    assert env["TRAINER_INFRA_OUTPUT_TABLE"] == "gs://tables/x"


def test_a_folder_of_this_machine_is_a_volume_of_its_own() -> None:
    volumes = [each for each in pod({"model": "/home/me/models"})["volumes"] if "hostPath" in each]
    path = {"path": "/home/me/models", "type": "DirectoryOrCreate"}
    assert volumes == [{"name": "trainer-infra-output-model", "hostPath": path}]


def test_ranks_of_mpi_have_the_outputs_too() -> None:
    runtime = catalog.get("deepspeed-distributed")
    job = kept_outputs.attach_outputs(JOB, runtime, {"model": "pvc://models"})
    attached, _ = code_mount.attach_code(job, runtime, Code({}, (), secret_args=False))
    command = attached["spec"]["trainer"]["command"]
    assert command[command.index("TRAINER_INFRA_OUTPUT_MODEL") - 1] == "-x"
    patched = {
        each["name"]
        for patch in attached["spec"]["runtimePatches"]
        for each in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    }
    assert patched == {"launcher", "node"}


def test_a_job_without_outputs_is_as_it_was() -> None:
    assert kept_outputs.attach_outputs(JOB, RUNTIME, {}) is JOB


def test_a_cluster_needs_a_place_that_is_found_again() -> None:
    (missing,) = kept_outputs.output_problems({"model": ""}, "", with_folders=False)
    assert str(missing).startswith(
        "outputs['model']: has no place in a cluster; run `pulumi config"
    )
    (folder,) = kept_outputs.output_problems({"model": "/data"}, "", with_folders=False)
    assert "is a folder of whichever machine a pod runs on" in str(folder)
    assert (
        list(kept_outputs.output_problems({"model": ""}, "pvc://models", with_folders=False)) == []
    )


@pytest.mark.parametrize(
    ("address", "with_folders", "said"),
    [
        (
            "file:///data/m",
            True,
            "is a folder of this machine, got 'file:///data/m'; write the path of the folder, /data/m",
        ),
        ("file:///data/m", False, "is a folder of whichever machine a pod runs on"),
        (
            "./models",
            True,
            "is not an absolute path, got './models'; write its whole path, str(Path(\"./models\").resolve())",
        ),
        ("models", True, "is not an absolute path, got 'models'; write its whole path, str(Path("),
        (
            "~/out",
            True,
            "got '~/out'; write its whole path, str(Path(\"~/out\").expanduser()), or pvc://",
        ),
        ("./out", False, "is not an address, got './out'; write pvc://CLAIM/PATH, or a URI"),
        ("/data/a\nb", True, "has a line break in it, which an address cannot have, got "),
        ("/data/a\tb", True, "has a tab in it, which an address cannot have, got "),
        (
            "/data/a\x1bb",
            True,
            "has the character '\\x1b' in it, which an address cannot have, got ",
        ),
        (
            "pvc://models/a b",
            True,
            "has a blank in it, which an address cannot have, got 'pvc://models/a b'",
        ),
        (
            "s3://models/a b",
            False,
            "has a blank in it, which an address cannot have, got 's3://models/a",
        ),
        (
            "s3://m/{job}",
            False,
            "has {job} in it, which stands for nothing, got 's3://m/{job}'; use {namespace}, {run}, {name}",
        ),
        ("s3://m/{}", False, "has {} in it"),
        ("/data/../m", True, "may not have .. in it"),
    ],
)
def test_an_address_that_would_lose_the_model_is_refused(
    address: str, with_folders: bool, said: str
) -> None:
    (found,) = kept_outputs.output_problems({"model": address}, "", with_folders=with_folders)
    assert said in str(found)


def test_a_folder_of_this_machine_may_have_blanks_in_its_name() -> None:
    given = {"model": "/data/my models/{run}"}
    assert list(kept_outputs.output_problems(given, "", with_folders=True)) == []
