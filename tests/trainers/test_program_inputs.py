"""A program that will find no data, or no package to report with, is known at preview."""

from dataclasses import replace
from typing import Any

import pytest

from trainer_infra import HuggingFaceTrainer, LlamaFactory, Trl, Unsloth, catalog, with_initializers
from trainer_infra.trainers import compose
from trainer_infra.trainers.program_inputs import missing_inputs, unfetched_inputs

INITIALIZED = "torch-distributed-with-initializers"
PLAIN = "torch-distributed"
OWN: dict[str, Any] = {"model": "org/base", "dataset": "org/words"}
URI = {"storageUri": "hf://org/name"}
PACKAGES = ["trl==0.24.0", "transformers==4.57.0"]


def of(
    trainer: Any, runtime: Any, image: str = "team/tuning:1", **initializer: Any
) -> tuple[list[str], list[str]]:
    """Problems and sentences of a job, in an image that has the library."""
    packed = trainer.pack()
    own = {"image": image} if image else {}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tune", "namespace": "ns"},
        "spec": {
            "runtimeRef": {"name": runtime if isinstance(runtime, str) else runtime.metadata.name},
            "trainer": {**own, **packed.trainer},
            **({"initializer": initializer} if initializer else {}),
        },
    }
    given = catalog.get(runtime) if isinstance(runtime, str) else runtime
    run = compose.compose(job, given, packed.code, ())
    wire = run.job.to_wire()
    problems = unfetched_inputs(wire, packed.code, run.objects)
    return list(map(str, problems)), list(missing_inputs(wire, packed.code, run.objects))


TRAINERS: dict[str, Any] = {
    "trl": Trl("sft"),
    "unsloth": Unsloth(),
    "llama-factory": LlamaFactory("sft", template=None, dataset="mine"),
    "a folder below": Trl("dpo", dataset="/workspace/dataset/pairs", model="/workspace/model/base"),
}


@pytest.mark.parametrize("name", TRAINERS)
def test_a_trainer_with_neither_initializer_nor_fields_is_refused_where_initializers_fill_its_folders(
    name: str,
) -> None:
    problems, _ = of(TRAINERS[name], INITIALIZED)
    assert [each.partition(":")[0] for each in problems] == [
        "initializer.dataset",
        "initializer.model",
    ]
    assert "which only this initializer fills" in problems[0]
    assert 'initializer={"model": {"storageUri": ...}}, or model= of the trainer' in problems[1]


@pytest.mark.parametrize("name", TRAINERS)
def test_where_no_volume_has_its_folders_the_preview_says_so(name: str) -> None:
    problems, said = of(TRAINERS[name], PLAIN)
    assert problems == []
    assert ["/workspace/dataset" in said[0], "/workspace/model" in said[1], len(said)] == [
        True,
        True,
        2,
    ]


def test_one_of_two_is_the_only_one_that_is_missed() -> None:
    (problem,), _ = of(Trl("sft"), INITIALIZED, dataset=URI)
    assert problem.startswith("initializer.model: ")
    problems, said = of(Trl("sft", model="org/name"), INITIALIZED, dataset=URI)
    assert (problems, said) == ([], [])


@pytest.mark.parametrize(
    "trainer",
    [
        Trl("sft", model="org/base", dataset="org/words"),
        Trl("sft", model="org/base", dataset=None),
        Trl("sft", model="/data/base", dataset="/data/words"),
    ],
)
def test_what_names_its_own_data_is_right(trainer: Any) -> None:
    assert of(trainer, INITIALIZED) == ([], [])
    assert of(trainer, PLAIN) == ([], [])


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"model": "file:///data/base"}, "write /data/base, or give the URI to initializer="),
        ({"model": "hf://org/base"}, "write org/base, or give the URI to initializer="),
        ({"dataset": "s3://bucket/words"}, 'give it to initializer={"dataset": {"storageUri": '),
        ({"dataset": "pvc://claim/words"}, 'give it to initializer={"dataset": {"storageUri": '),
    ],
)
def test_a_uri_that_only_an_initializer_reads_is_refused_in_a_field_of_the_trainer(
    given: dict[str, Any], fix: str
) -> None:
    for trainer in (Trl("sft", **{**OWN, **given}), Unsloth(**{**OWN, **given})):
        (problem,), said = of(trainer, PLAIN)
        (field, value), *_ = given.items()
        assert problem.startswith(
            f"{field}: is a folder or a name on the Hub, and no URI, got {value!r}; {fix}"
        )
        assert said == []


def test_a_volume_of_the_users_own_may_have_it() -> None:
    wire = with_initializers(catalog.get(PLAIN)).to_wire()
    spec = wire["spec"]["template"]["spec"]
    spec.pop("volumeClaimPolicies")
    spec["replicatedJobs"] = [each for each in spec["replicatedJobs"] if each["name"] == "node"]
    node = spec["replicatedJobs"][0]
    node.pop("dependsOn")
    claim = {"name": "initializer", "persistentVolumeClaim": {"claimName": "mine"}}
    node["template"]["spec"]["template"]["spec"]["volumes"] = [claim]
    wire["metadata"]["name"] = "mine"
    assert of(Trl("sft"), type(catalog.get(PLAIN)).from_wire(wire)) == ([], [])


@pytest.mark.parametrize(
    ("trainer", "package"),
    [
        (Trl("sft", **OWN, options={"report_to": "wandb"}, packages=PACKAGES), "wandb"),
        (Trl("sft", **OWN, options={"report_to": "comet_ml"}, packages=PACKAGES), "comet-ml"),
        (
            HuggingFaceTrainer(
                "train.py:argued",
                options={"report_to": ["none", "tensorboard"]},
                packages=PACKAGES,
            ),
            "tensorboard",
        ),
    ],
)
def test_what_is_reported_to_without_its_package_is_said(
    trainer: Any, package: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("def argued(arguments):\n    pass\n")
    _, (said,) = of(trainer, PLAIN)
    assert f"and packages= has no {package}: the program fails unless another package" in said


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"report_to": "wandb"}, "packages": [*PACKAGES, "wandb==0.22.0"]},
        {"options": {"report_to": "tensorboard"}, "packages": [*PACKAGES, "tensorboardX==2.6"]},
        {"options": {"report_to": "comet_ml"}, "packages": [*PACKAGES, "Comet_ML[all]==3.0"]},
        {"options": {"report_to": "none"}, "packages": PACKAGES},
        {"options": {"report_to": "all"}, "packages": PACKAGES},
        {"options": {"report_to": "wandb"}},
    ],
)
def test_what_has_its_package_or_an_image_of_its_own_is_right(more: dict[str, Any]) -> None:
    assert of(Trl("sft", **OWN, **more), PLAIN) == ([], [])


@pytest.mark.parametrize(
    ("trainer", "library"),
    [
        (Trl("dpo", **OWN), "trl"),
        (LlamaFactory("sft", template=None, dataset="mine", model="a/b"), "llamafactory"),
        (Unsloth(**OWN), "unsloth"),
    ],
)
def test_a_library_that_neither_image_nor_packages_have_is_said(trainer: Any, library: str) -> None:
    _, said = of(trainer, PLAIN, "")
    found = [each for each in said if f"the program belongs to {library}, which the image" in each]
    assert len(found) == 1
    assert f'give packages=["{library}==<version>"], or image=' in found[0]
    assert of(Trl("sft", **OWN, packages=PACKAGES), PLAIN, "") == ([], [])


@pytest.mark.parametrize(
    "trainer",
    [
        Trl("sft", **OWN, lora={"r": 8, "quantize": "4bit"}),
        Trl("sft", **OWN, options={"load_in_8bit": True}),
        LlamaFactory(
            "sft",
            template=None,
            dataset="mine",
            dataset_dir="/data",
            model="a/b",
            lora={"quantize": "8bit"},
        ),
    ],
)
def test_quantized_weights_without_a_gpu_are_said(trainer: Any) -> None:
    _, (said,) = of(trainer, PLAIN)
    assert "quantized weights need a GPU, and a node asks for none" in said
    with_gpu = replace(trainer, resources_per_node={"gpu": 1})
    assert of(with_gpu, PLAIN) == ([], [])
