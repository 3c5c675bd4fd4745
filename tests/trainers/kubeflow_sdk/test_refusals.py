"""What is wrong with values of the SDK's types, before anything is deployed."""

import sys
from pathlib import Path
from typing import Any

import pytest
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    Runtime,
    RuntimeKind,
    RuntimeTrainer,
    TorchTuneConfig,
    TorchTuneInstructDataset,
    TrainerType,
)
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds,
    Labels,
    Name,
    RuntimePatch,
    TrainerArgs,
    TrainerCommand,
)

from tests.trainers.kubeflow_sdk.conftest import made, problems
from trainer_infra import ContainerTrainer
from trainer_infra import CustomTrainer as OurTrainer
from trainer_infra.in_pod import own_place

TORCH = "torch-distributed"
TUNE = "torchtune-llama3.2-1b"
CONTAINER = CustomTrainerContainer(image="example.com/train:1")
TOKEN = HuggingFaceDatasetInitializer("hf://org/data", access_token="hf_1")
NO_FUNCTION = "choose one of another framework, or give a BuiltinTrainer"


def fit(rate: float = 0.1) -> None:
    assert rate


def runtime(framework: str, kind: RuntimeKind = RuntimeKind.CLUSTER_TRAINING_RUNTIME) -> Runtime:
    trainer = RuntimeTrainer(TrainerType.CUSTOM_TRAINER, framework, "example.com/image")
    return Runtime("mine", trainer, kind)


def custom(**fields: Any) -> dict[str, Any]:
    return {"runtime": TORCH, "trainer": CustomTrainer(fit, **fields)}


def tuned(**config: Any) -> dict[str, Any]:
    return {"runtime": TUNE, "trainer": BuiltinTrainer(TorchTuneConfig(**config))}


def optional(*options: Any, **others: Any) -> dict[str, Any]:
    return {"runtime": TORCH, "options": list(options), **others}


@pytest.mark.parametrize(
    ("trainer", "given", "said"),
    [
        (
            CustomTrainer(fit),
            TUNE,
            (
                f"runtime: is of torchtune, so no CustomTrainer can train on it, got '{TUNE}'; "
                f"{NO_FUNCTION}"
            ),
        ),
        (
            CONTAINER,
            TUNE,
            (
                f"runtime: is of torchtune, so no CustomTrainerContainer can train on it, got '{TUNE}'; "
                f"{NO_FUNCTION}"
            ),
        ),
        (
            BuiltinTrainer(TorchTuneConfig()),
            TORCH,
            (
                "runtime: is of torch, so no BuiltinTrainer can train on it, got 'torch-distributed'; "
                "choose one of torchtune"
            ),
        ),
        (
            BuiltinTrainer(TorchTuneConfig()),
            {"kind": "TrainingRuntime", "metadata": {"name": "mine"}},
            (
                "runtime: is of no framework, so no BuiltinTrainer can train on it, got 'mine'; "
                "choose one of torchtune"
            ),
        ),
        (
            CustomTrainer(fit),
            runtime("torchtune"),
            f"runtime: is of torchtune, so no CustomTrainer can train on it, got 'mine'; {NO_FUNCTION}",
        ),
        (
            CustomTrainer(fit),
            runtime("torch", RuntimeKind.TRAINING_RUNTIME),
            (
                "runtime: is the TrainingRuntime mine, and a name means a ClusterTrainingRuntime; give the "
                "runtime itself, as a resource, typed or in wire form"
            ),
        ),
    ],
)
def test_a_trainer_is_for_runtimes_of_its_type(trainer: Any, given: Any, said: str) -> None:
    assert problems({"trainer": trainer, "runtime": given}) == [said]


def test_a_runtime_that_only_the_cluster_has_is_judged_by_what_the_sdk_knows_of_it() -> None:
    job, _ = made({"trainer": CustomTrainer(fit), "runtime": runtime("torch")})
    assert job["spec"]["runtimeRef"] == {"name": "mine"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            custom(packages_to_install=["torch"]),
            [
                (
                    "packages_to_install[0]: has no exact version, so the same job could train with other "
                    "code, got 'torch'; write name==version, for example \"jax[cpu]==0.9.0\", or give a lock file that `trainer-infra lock` makes"
                )
            ],
        ),
        (
            custom(resources_per_node={"mig-1g.5gb": 1, "MIG-2g.10gb": 1}),
            [
                (
                    "resources_per_node: names several kinds of parts of GPUs, got "
                    "['nvidia.com/mig-1g.5gb', 'nvidia.com/mig-2g.10gb']; keep one of them"
                )
            ],
        ),
        (
            custom(resources_per_node={"mig-1g.5gb": 1, "GPU": 1}),
            [
                (
                    "resources_per_node: names whole GPUs and parts of them, got "
                    "['nvidia.com/mig-1g.5gb', 'gpu']; keep one of them"
                )
            ],
        ),
        (
            custom(env={"A": 1}, resources_per_node={"cpu": "two"}),
            [
                "resources_per_node.cpu: must be a quantity such as 1, 500m or 16Gi, got 'two'",
                'env.A: must be text, not int, got 1; quote it: "1"',
            ],
        ),
        (
            {"runtime": TUNE, "trainer": BuiltinTrainer("x")},  # type: ignore[arg-type]  # wrong on purpose
            ["config: must be a TorchTuneConfig of the kubeflow SDK, got 'str'"],
        ),
        (
            tuned(
                dtype="bf16",
                loss="l",
                batch_size="8",
                num_nodes=-1,
                peft_config=LoraConfig(lora_rank="a"),  # type: ignore[arg-type]  # the same
                dataset_preprocess_config=TorchTuneInstructDataset(source="json"),  # type: ignore[arg-type]  # the same
            ),
            [
                "config.dtype: must be one of DataType of the kubeflow SDK, got 'bf16'",
                "config.loss: must be one of Loss of the kubeflow SDK, got 'l'",
                (
                    "config.dataset_preprocess_config.source: must be one of DataFormat of the kubeflow "
                    "SDK, got 'json'"
                ),
                "config.batch_size: must be a whole number, got '8'; write 8",
                "config.peft_config.lora_rank: must be a whole number, got 'a'",
                "config.num_nodes: must be a whole number from 1, got -1",
            ],
        ),
        (
            tuned(peft_config={"lora_rank": 1}),
            ["config.peft_config: must be a LoraConfig of the kubeflow SDK, got {'lora_rank': 1}"],
        ),
        (
            {"runtime": TORCH, "trainer": TorchTuneConfig()},
            [
                (
                    "trainer: takes no TorchTuneConfig of the kubeflow SDK; give its CustomTrainer or "
                    "CustomTrainerContainer or BuiltinTrainer"
                )
            ],
        ),
    ],
)
def test_a_wrong_trainer_is_refused(arguments: dict[str, Any], said: list[str]) -> None:
    assert problems(arguments) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            TOKEN,
            [
                (
                    "initializer: takes no HuggingFaceDatasetInitializer of the kubeflow SDK; give its "
                    "Initializer"
                )
            ],
        ),
        (
            Initializer(
                dataset=HuggingFaceModelInitializer("hf://org/model", access_token="hf_1"),  # type: ignore[arg-type]  # wrong on purpose
                model="hf://org/model",  # type: ignore[arg-type]  # the same
            ),
            [
                (
                    "initializer.dataset: must be a HuggingFaceDatasetInitializer or S3DatasetInitializer or "
                    "DataCacheInitializer of the kubeflow SDK, got 'HuggingFaceModelInitializer'"
                ),
                (
                    "initializer.model: must be a HuggingFaceModelInitializer or S3ModelInitializer of the "
                    "kubeflow SDK, got 'str'"
                ),
            ],
        ),
        (
            Initializer(HuggingFaceDatasetInitializer("hf://a", ignore_patterns="*.md")),  # type: ignore[arg-type]  # the same
            ["initializer.dataset.ignore_patterns: must be a list of texts, got '*.md'"],
        ),
        (
            Initializer(HuggingFaceDatasetInitializer("hf://a", access_token=3)),  # type: ignore[arg-type]  # the same
            [
                (
                    "spec.initializer.dataset.env[0].value: a secret variable is text, and this Secret holds "
                    'a number; give it text, as Secret("...")'
                )
            ],
        ),
    ],
)
def test_a_wrong_initializer_is_refused_and_no_token_is_shown(given: Any, said: list[str]) -> None:
    assert problems({"runtime": TORCH, "initializer": given}) == said


def test_a_trainer_that_is_an_initializer_shows_no_token_either() -> None:
    (said,) = problems({"runtime": TORCH, "trainer": Initializer(TOKEN)})
    assert said.startswith("trainer: takes no Initializer of the kubeflow SDK")
    assert "hf_1" not in said


def suspending(job: dict[str, Any], _trainer: object, _backend: object) -> None:
    job["spec"] = {"suspend": True}


def commanding(job: dict[str, Any], _trainer: object, _backend: object) -> None:
    job["spec"] = {"trainer": {"command": ["other"]}}


def connected(_job: dict[str, Any], _trainer: object, backend: Any) -> None:
    assert backend.namespace


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"runtime": TORCH, "options": Labels({"a": "b"})},
            [
                (
                    "options: must be a list of options of the kubeflow SDK, got Labels(labels={'a': 'b'}); "
                    'as in [Labels({"team": "a"})]'
                )
            ],
        ),
        (
            optional(Labels, {"a": 1}, "x"),
            [
                "options[0]: is the class Labels, and no option by itself; write Labels(...)",
                "options[1]: is not an option of the kubeflow SDK, such as Labels or RuntimePatch, got {'a': 1}",
                "options[2]: is not an option of the kubeflow SDK, such as Labels or RuntimePatch, got 'x'",
            ],
        ),
        (
            optional(
                *(Labels({"a": "b"}), Name("x"), ActiveDeadlineSeconds(3)),
                labels={"c": "d"},
                name="y",
                active_deadline_seconds=4,
            ),
            [
                f"{name}: is given, and an option sets it too; keep one of them"
                for name in ("name", "labels", "active_deadline_seconds")
            ],
        ),
        (
            optional(RuntimePatch(), RuntimePatch()),
            [
                (
                    "options[1]: is a second runtime patch of trainer.kubeflow.org/kubeflow-sdk, and a "
                    "TrainJob has one of each manager; write both into one RuntimePatch"
                )
            ],
        ),
        (
            optional(TrainerCommand(["a"]), trainer=CustomTrainer(fit)),
            [
                (
                    "options[0]: cannot be used here: TrainerCommand can only be used with "
                    "CustomTrainerContainer. CustomTrainer generates its own command from the function, and "
                    "BuiltinTrainer uses pre-configured commands."
                )
            ],
        ),
        (
            optional(TrainerCommand("a b"), TrainerArgs([1]), trainer=CONTAINER),  # type: ignore[arg-type, list-item]  # wrong on purpose
            [
                "command: must be a list of texts, got 'a b'",
                'args[0]: must be text, not int, got 1; quote it: "1"',
            ],
        ),
        (
            optional(suspending),
            [
                (
                    "options[0]: writes spec.suspend, which the SDK does not send; give it as an argument of "
                    "the TrainJob, if there is one"
                )
            ],
        ),
        (
            optional(commanding, trainer=OurTrainer(fit)),
            [
                (
                    "options: write the command of a trainer that has its own; leave the option out, or give "
                    "a CustomTrainerContainer"
                )
            ],
        ),
        (
            optional(connected),
            [
                "options[0]: cannot be used here: 'KubernetesBackend' object has no attribute 'namespace'"
            ],
        ),
    ],
)
def test_a_wrong_option_is_refused(arguments: dict[str, Any], said: list[str]) -> None:
    assert problems(arguments) == said


def test_every_problem_of_a_job_is_told_at_once() -> None:
    job = optional(Labels, trainer=BuiltinTrainer(3), initializer=Initializer(model=3))  # type: ignore[arg-type]  # wrong on purpose
    assert [each.partition(":")[0] for each in problems(job)] == [
        "options[0]",
        "config",
        "initializer.model",
    ]


def test_types_of_another_release_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "kubeflow-0.6.1.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: kubeflow\nVersion: 0.6.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert problems(custom()) == [
        (
            "trainer: is a type of kubeflow 0.6.1, and what is known here is 0.5; install "
            '"kubeflow==0.5.*"'
        )
    ]


def test_options_need_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubeflow.trainer.backends.kubernetes.backend", None)
    said = "options: are called by the kubeflow SDK, which is not installed"
    assert problems(optional(suspending)) == [f"{said}; run `{own_place.install_command('sdk')}`"]


def test_options_and_patches_of_ours_go_together() -> None:
    own = [{"manager": "example.com/mine", "trainingRuntimeSpec": {}}]
    job, _ = made(optional(RuntimePatch(), runtime_patches=own, trainer=ContainerTrainer("image")))
    assert [each["manager"] for each in job["spec"]["runtimePatches"]] == [
        "example.com/mine",
        "trainer.kubeflow.org/kubeflow-sdk",
    ]
