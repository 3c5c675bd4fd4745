"""A TrainJob of the SDK's types is the one that the SDK's own client sends, but for what is named here.

- A function's command: the SDK writes the source into a shell script, and we mount it (`test_function_source`).
- Tokens of initializers: the SDK writes them into the TrainJob, and we into the job's own Secret.
- Numbers: the SDK sends every amount as a fraction, which no schema of the API has.
- The runtime's kind: ours is the default, and not said.
- The name: the SDK has a random one where none is given.
"""

from typing import Any

import pytest
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    DataCacheInitializer,
    DataFormat,
    DataType,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    Loss,
    S3DatasetInitializer,
    S3ModelInitializer,
    TorchTuneConfig,
    TorchTuneInstructDataset,
    TrainJobTemplate,
)
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds,
    Annotations,
    ContainerPatch,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    Name,
    PodSpecPatch,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainerArgs,
    TrainerCommand,
    TrainingRuntimeSpecPatch,
)

from tests.trainers.kubeflow_sdk.conftest import Sent, made
from trainer_infra import names

TORCH = "torch-distributed"
TUNE = "torchtune-llama3.2-1b"
IMAGE = "example.com/train:1"
TOKENS = ("ACCESS_TOKEN", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")


def fit(rate: float = 0.1, words: object = None) -> None:
    assert rate or words


def patch(pod: PodSpecPatch) -> RuntimePatch:
    job = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(spec=pod)))
    jobset = JobSetSpecPatch(replicated_jobs=[ReplicatedJobPatch(name="node", template=job)])
    return RuntimePatch(TrainingRuntimeSpecPatch(template=JobSetTemplatePatch(spec=jobset)))


def tuned(*, initializer: Initializer | None = None, **config: Any) -> dict[str, Any]:
    trainer = BuiltinTrainer(TorchTuneConfig(**config))
    return {"runtime": TUNE, "trainer": trainer, "initializer": initializer}


def contained(*options: Any, **fields: Any) -> dict[str, Any]:
    trainer = CustomTrainerContainer(image=IMAGE, **fields)
    return {"runtime": TORCH, "trainer": trainer, "options": list(options)}


def fetched(**parts: Any) -> dict[str, Any]:
    return {"runtime": TORCH, "initializer": Initializer(**parts)}


CASES: dict[str, Any] = {
    "a function alone": {"runtime": TORCH, "trainer": CustomTrainer(fit)},
    "a function in an image": {"runtime": TORCH, "trainer": CustomTrainer(fit, image=IMAGE)},
    "a template without a runtime": {**TrainJobTemplate(trainer=CustomTrainer(fit))},
    "nodes and amounts": {
        "runtime": TORCH,
        "trainer": CustomTrainer(
            fit,
            num_nodes=3,
            resources_per_node={"CPU": 2, "Memory": "4Gi", "GPU": 1, "storage": "1Gi"},
        ),
    },
    "a fraction of a processor": contained(resources_per_node={"cpu": 0.5}),
    "a part of a GPU": contained(resources_per_node={"MIG-1g.5gb": 1}),
    "a resource of another maker": contained(resources_per_node={"example.com/Chip": 4}),
    "nothing that is empty": {
        "runtime": TORCH,
        "trainer": CustomTrainer(
            fit, image="", num_nodes=0, resources_per_node={}, env={}, packages_to_install=[]
        ),
    },
    "variables of a function": {
        "runtime": TORCH,
        "trainer": CustomTrainer(fit, env={"A": "1", "B": "$(A)/x", "C": "a$$b", "D": ""}),
    },
    "packages": {
        "runtime": TORCH,
        "trainer": CustomTrainer(fit, packages_to_install=["six==1.17.0"]),
    },
    "an MPI runtime": {"runtime": "deepspeed-distributed", "trainer": CustomTrainer(fit)},
    "a plain runtime": {"runtime": "plain-distributed", "trainer": CustomTrainer(fit)},
    "an image": contained(),
    "an image with all": contained(
        num_nodes=2, resources_per_node={"gpu": 8}, env={"WHERE": "$(HOME)/x"}
    ),
    "a command": contained(TrainerCommand(["bash", "-c", "echo $$ $(HOME) $(date)"])),
    "arguments": contained(TrainerArgs(["--index=$(JOB_COMPLETION_INDEX)", "--all"])),
    "a command and no arguments": contained(TrainerCommand(["train"]), TrainerArgs([])),
    "a command and no trainer": {"runtime": TORCH, "options": [TrainerCommand(["train"])]},
    "nothing but a runtime": {"runtime": TORCH, "options": [Name("one")]},
    "a name, labels and annotations": contained(
        Name("mine"), Labels({"team": "a"}), Annotations({"note": "b"})
    ),
    "labels twice": contained(Labels({"team": "a"}), Labels({"owner": "b"})),
    "a deadline": contained(ActiveDeadlineSeconds(600)),
    "a runtime patch": contained(
        patch(
            PodSpecPatch(
                service_account_name="trainer",
                node_selector={"zone": "a"},
                tolerations=[{"key": "gpu", "operator": "Exists"}],
                volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
                containers=[
                    ContainerPatch(
                        name="node", volume_mounts=[{"name": "data", "mountPath": "/data"}]
                    )
                ],
            )
        )
    ),
    "an empty runtime patch": contained(RuntimePatch()),
    "a dataset of the Hub": fetched(dataset=HuggingFaceDatasetInitializer("hf://org/data")),
    "a private dataset": fetched(
        dataset=HuggingFaceDatasetInitializer(
            "hf://org/data", ignore_patterns=["*.md", "*.txt"], access_token="hf_1"
        )
    ),
    "a model of the Hub": fetched(model=HuggingFaceModelInitializer("hf://org/model")),
    "all files of a model": fetched(
        model=HuggingFaceModelInitializer("hf://org/model", ignore_patterns=None)
    ),
    "a dataset of S3": fetched(
        dataset=S3DatasetInitializer(
            "s3://bucket/data",
            endpoint="https://s3.example.com",
            access_key_id="id",
            secret_access_key="key",
            region="eu",
            role_arn="arn:role",
        )
    ),
    "dataset and model": fetched(
        dataset=S3DatasetInitializer("s3://bucket/data"), model=S3ModelInitializer("s3://bucket/m")
    ),
    "a data cache": fetched(
        dataset=DataCacheInitializer(
            "cache://schema/table", metadata_loc="s3://b/m", num_data_nodes=4, head_cpu="1"
        )
    ),
    "nothing to fetch": fetched(),
    "tuning as it comes": tuned(),
    "tuning with all": tuned(
        dtype=DataType.BF16,
        batch_size=8,
        epochs=2,
        loss=Loss.CEWithChunkedOutputLoss,
        num_nodes=1,
        resources_per_node={"gpu": 1},
        peft_config=LoraConfig(
            apply_lora_to_mlp=True,
            lora_rank=8,
            lora_alpha=16,
            lora_dropout=0.1,
            quantize_base=False,
            use_dora=True,
            lora_attn_modules=["q_proj", "v_proj"],
        ),
        dataset_preprocess_config=TorchTuneInstructDataset(
            source=DataFormat.JSON,
            split="train[:10%]",
            train_on_input=True,
            new_system_prompt="Answer $(briefly): 'yes'",
            column_map={"input": "q", "output": "a"},
        ),
    ),
    "tuning with adapters": tuned(peft_config=LoraConfig()),
    "tuning on a dataset": tuned(
        initializer=Initializer(
            dataset=HuggingFaceDatasetInitializer("hf://org/data/sub", access_token="hf_1"),
            model=HuggingFaceModelInitializer("hf://org/model"),
        )
    ),
    "tuning on a file": tuned(
        initializer=Initializer(HuggingFaceDatasetInitializer("hf://org/data/sub/train.json"))
    ),
    "tuning on a dataset of S3": tuned(
        initializer=Initializer(S3DatasetInitializer("s3://bucket/data"))
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_arguments_make_the_same_train_job(case: str, sent: Sent) -> None:
    arguments = CASES[case]
    ours, secrets = made(arguments)
    theirs = sent(arguments)

    named = "name" in ours["metadata"]
    assert without_named_differences(theirs, ours, secrets, named=named) == ours


def without_named_differences(
    theirs: dict[str, Any], ours: dict[str, Any], secrets: dict[str, Any], *, named: bool
) -> dict[str, Any]:
    """The SDK's TrainJob, with what we do otherwise."""
    metadata, spec = theirs["metadata"], theirs["spec"]
    assert spec["runtimeRef"].pop("kind") == names.CLUSTER_TRAINING_RUNTIME
    if not named:
        del metadata["name"]
    trainer = spec.get("trainer", {})
    if "SCRIPT" in str(trainer.get("command")):
        del trainer["command"]
        spec["trainer"] = trainer
        assert "command" not in ours["spec"]["trainer"], "the code brings it"
    for amounts in trainer.get("resourcesPerNode", {}).values():
        amounts |= {
            name: each if float(each).is_integer() else str(each)
            for name, each in amounts.items()
            if isinstance(each, float)
        }
    for part, fetching in spec.get("initializer", {}).items():
        for entry in fetching["env"]:
            if entry["name"] in TOKENS:
                key = f"initializer.{part}.env.{entry['name']}"
                assert secrets.pop(key) == entry.pop("value")
                entry["valueFrom"] = {"secretKeyRef": {"name": names.OWN_SECRET, "key": key}}
    assert secrets == {}
    return theirs
