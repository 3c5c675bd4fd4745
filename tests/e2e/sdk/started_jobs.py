"""The TrainJobs that most tests look at, as a user of the SDK starts them."""

from collections.abc import Mapping
from typing import Final

JOBS: Final[Mapping[str, str]] = {
    "digits": """
        trainer = CustomTrainer(
            functions.train_digits,
            func_args={"steps": 200, "rate": 1.0},
            image=image,
            num_nodes=2,
            resources_per_node={"cpu": "500m", "memory": 2 << 30},
            env={"GREETING": "hello"},
        )
        metadata = [Labels({"team": "vision"}), Annotations({"example.com/why": "test"})]
        return client.train("torch-distributed", trainer=trainer, options=[Name(name), *metadata])
    """,
    "running": """
        trainer = CustomTrainer(functions.say_lines, func_args={"lines": 2, "seconds": 600},
                                num_nodes=2, image=image)
        return client.train("plain", trainer=trainer, options=[Name(name)])
    """,
    "failing": """
        trainer = CustomTrainer(functions.say_and_fail, func_args={"code": 3}, image=image)
        return client.train("plain", trainer=trainer, options=[Name(name)])
    """,
    "pending": """
        trainer = CustomTrainerContainer("trainer-infra.local/absent:1")
        return client.train("plain", trainer=trainer, options=[Name(name)])
    """,
    "unschedulable": """
        trainer = CustomTrainerContainer(image, resources_per_node={"cpu": 1000})
        return client.train("plain", trainer=trainer, options=[Name(name)])
    """,
    "container": """
        trainer = CustomTrainerContainer(image, env={"GREETING": "hello"})
        words = TrainerArgs(['echo "$GREETING to $0 $1"', "you", "all"])
        said = [TrainerCommand(["bash", "-c"]), words]
        return client.train("plain", trainer=trainer, options=[Name(name), *said])
    """,
    "late": """
        trainer = CustomTrainer(functions.say_lines, func_args={"lines": 1, "seconds": 600},
                                image=image)
        return client.train("plain", trainer=trainer, options=[Name(name), ActiveDeadlineSeconds(5)])
    """,
    "fetching": """
        fetched = Initializer(
            dataset=HuggingFaceDatasetInitializer("hf://org/data", access_token="given"),
            model=S3ModelInitializer("s3://bucket/model", endpoint="https://s3.example.com"),
        )
        return client.train("fetching", initializer=fetched, options=[Name(name)])
    """,
    "caching": """
        fetched = Initializer(
            dataset=DataCacheInitializer("cache://schema/table", metadata_loc="s3://bucket/metadata",
                                         num_data_nodes=2, worker_mem="3Gi"),
            model=HuggingFaceModelInitializer("hf://org/model"),
        )
        return client.train("fetching", initializer=fetched, options=[Name(name)])
    """,
    "mpi": """
        trainer = CustomTrainer(functions.say_rank, image=image, num_nodes=2,
                                env={"OMPI_MCA_mca_base_env_list": "PYTHONPATH"})
        return client.train("mpi", trainer=trainer, options=[Name(name)])
    """,
    "reporting": """
        trainer = CustomTrainer(functions.report_progress, func_args={"percent": 42}, image=image)
        return client.train("plain", trainer=trainer, options=[Name(name)])
    """,
    "patched": """
        container = ContainerPatch("node", volume_mounts=[{"name": "scratch", "mountPath": "/scratch"}])
        pod = PodSpecPatch(volumes=[{"name": "scratch", "emptyDir": {}}], containers=[container],
                           node_selector={"kubernetes.io/os": "linux"})
        template = PodTemplatePatch(metadata={"labels": {"team": "vision"}}, spec=pod)
        job = ReplicatedJobPatch("node", JobTemplatePatch(spec=JobSpecPatch(template)))
        whole = JobSetTemplatePatch(metadata={"labels": {"team": "vision"}},
                                    spec=JobSetSpecPatch([job]))
        patch = RuntimePatch(TrainingRuntimeSpecPatch(whole))
        trainer = CustomTrainerContainer(image)
        said = [TrainerCommand(["ls", "-d"]), TrainerArgs(["/scratch"])]
        return client.train("plain", trainer=trainer, options=[Name(name), patch, *said])
    """,
    "tuned": """
        config = TorchTuneConfig(dtype=DataType.BF16, batch_size=2, epochs=1,
                                 peft_config=LoraConfig(lora_rank=8),
                                 resources_per_node={"gpu": "2"})
        return client.train("torchtune-llama3.2-1b", trainer=BuiltinTrainer(config),
                            options=[Name(name)])
    """,
}
"""By name; `image` has Python."""
