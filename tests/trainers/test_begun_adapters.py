"""Jobs that begin with a LoRA adapter of an earlier one: what is packed, mounted, and refused."""

import re
from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.errors import InvalidInput
from trainer_infra.in_pod import lora_adapter
from trainer_infra.in_pod.initializers.sources import pvc
from trainer_infra.trainers import adapter_base, compose, volume_address
from trainer_infra.trainers.libraries.fine_tuning import LoraArgs
from trainer_infra.trainers.libraries.llama_factory import LlamaFactory
from trainer_infra.trainers.libraries.trl import Trl

LORA: LoraArgs = {"r": 8}
RUNTIME = catalog.get("torch-distributed-with-initializers")


def factory(**given: Any) -> LlamaFactory:
    return LlamaFactory("dpo", template="x", dataset="d", **given)


@pytest.mark.parametrize(
    ("given", "packed"),
    [
        ("pvc://models/team/sft-1/model", "pvc://models/team/sft-1/model"),
        ("/data/adapter", "/data/adapter"),
        ("file:///data/adapter", "/data/adapter"),
        ("hf://team/adapter", "team/adapter"),
        ("team/adapter", "team/adapter"),
    ],
)
def test_the_launcher_is_told_where_the_adapter_is(given: str, packed: str) -> None:
    for trainer in (
        Trl("dpo", adapter=given),
        Trl("dpo", adapter=given, lora=LORA, merge=True),
        factory(adapter=given),
        factory(adapter=given, lora=LORA, merge=True),
    ):
        code = trainer.pack().code
        assert code.launch()["begins_with"] == {
            "adapter": packed,
            "option": "--model_name_or_path",
        }
        assert "lib/trainer_infra/in_pod/lora_adapter.py" in code.files
        assert "--model_name_or_path=/workspace/model" in (trainer.pack().trainer["args"])


def test_without_one_nothing_is_said_of_it() -> None:
    assert "begins_with" not in Trl("dpo").pack().code.launch()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"adapter": "s3://bucket/adapter"},
            "adapter: is an address that pods do not mount, got 's3://bucket/adapter'; keep it in a claim",
        ),
        ({"adapter": "gs://bucket/a", "lora": LORA, "merge": True}, "is an address that pods do"),
        ({"adapter": ""}, "adapter: must be a text with something in it"),
        ({"adapter": 3}, "adapter: must be a text with something in it"),
        (
            {"adapter": "/data/a", "lora": LORA},
            "the new adapter has no base then, got '/data/a'; give merge=True, or leave out lora=",
        ),
    ],
)
def test_what_no_job_can_begin_with_is_refused(given: dict[str, Any], said: str) -> None:
    for trainer in (Trl("dpo", **given), factory(**given)):
        with pytest.raises(InvalidInput, match=re.escape(said)):
            trainer.pack()


def pods(adapter: str, place: str = "") -> list[dict[str, Any]]:
    """Specs of the pods of each job, by the name of the job."""
    packed = Trl("dpo", adapter=adapter).pack()
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "dpo-1", "namespace": "team"},
        "spec": {"runtimeRef": {"name": RUNTIME.metadata.name}, "trainer": packed.trainer},
    }
    job = adapter_base.with_adapter_claim(job, RUNTIME, packed.code, lambda each: place or each)
    run = compose.compose(job, RUNTIME, packed.code, ())
    (jobset,) = (each for each in run.objects if each["kind"] == "JobSet")
    return [
        {"job": each["name"], **each["template"]["spec"]["template"]["spec"]}
        for each in jobset["spec"]["replicatedJobs"]
    ]


def test_only_pods_that_train_see_its_claim_and_read_it() -> None:
    for pod in pods("pvc://models/team/sft-1/model"):
        claims = [
            each["name"]
            for each in pod.get("volumes", ())
            if each.get("persistentVolumeClaim", {}).get("claimName") == "models"
        ]
        mounts = [
            each
            for container in pod["containers"]
            for each in container.get("volumeMounts", ())
            if each["name"] in claims
        ]
        assert len(mounts) == (1 if pod["job"] == "node" else 0)
        for mount in mounts:
            assert mount["mountPath"] == "/opt/trainer-infra/claims/models"
            assert mount["readOnly"] is True
            assert "subPath" not in mount


def test_on_this_machine_a_folder_stands_for_the_claim() -> None:
    (node,) = (each for each in pods("pvc://models/a", "/state/models") if each["job"] == "node")
    assert {
        "path": "/state/models",
        "type": "DirectoryOrCreate",
    } in [each.get("hostPath") for each in node["volumes"]]


@pytest.mark.parametrize("adapter", ["/data/adapter", "team/adapter"])
def test_what_is_no_claim_is_not_mounted(adapter: str) -> None:
    (node,) = (each for each in pods(adapter) if each["job"] == "node")
    assert names.CLAIM_VOLUME not in [each["name"] for each in node["volumes"]]


def test_what_pods_are_told_by_literals_is_what_is_rendered() -> None:
    assert {lora_adapter.CLAIMS, pvc.CLAIMS} == {names.CLAIMS_MOUNT}
    assert lora_adapter.CLAIM == volume_address.CLAIM
    assert lora_adapter.LOCAL_RUN == names.PROCESS_MARK
