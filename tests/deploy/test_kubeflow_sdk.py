"""Programs with the types of the published SDK, deployed to this machine."""

import re

from tests.deploy.project import Stack

HEAD = """
from kubeflow.trainer import (
    BuiltinTrainer, CustomTrainer as Function, CustomTrainerContainer, HuggingFaceModelInitializer,
    Initializer, S3DatasetInitializer, TorchTuneConfig, TrainJobTemplate,
)
from kubeflow.trainer.options import Annotations, Labels, Name, TrainerArgs, TrainerCommand
from trainer_infra import ClusterTrainingRuntime, TrainJobs, catalog

def fit(price="", words=()):
    import os
    text = '''
cost $5 ${PRICE} $(echo sub) `date` \\\\
EOM
'''
    print("text", ascii(text), price, os.environ.get("PRICE"), words, flush=True)

def later(value):
    return pulumi.Output.from_input(value)
"""


def test_functions_and_images_train_with_options_and_outputs(stack: Stack) -> None:
    stack.program(f"""{HEAD}
TrainJob(
    "function",
    runtime="plain-distributed",
    trainer=Function(
        fit,
        func_args={{"price": "$5 ${{X}} $(PRICE)", "words": later([1, "a"])}},
        num_nodes=later(1),
        resources_per_node=later({{"CPU": 1}}),
        env={{"PRICE": later("5$"), "TOKEN": pulumi.Output.secret("hidden-word")}},
    ),
    options=[Name("mine"), Labels({{"team": later("a")}}), Annotations({{"note": "b"}})],
    wait_for="complete",
)
TrainJob(
    "image",
    runtime="plain-distributed",
    trainer=CustomTrainerContainer(image="example.com/any", env={{"A": "1", "B": "$(A)2"}}),
    options=[
        Name("image"),
        TrainerCommand(["bash", "-c", 'echo "$B and $0 and $(echo sub)"']),
        TrainerArgs([later("$(B)")]),
    ],
    wait_for="complete",
)
template = TrainJobTemplate(trainer=Function(fit, {{"words": "template"}}), runtime="plain-distributed")
TrainJobs("sweep", {{"one": {{**template}}, "two": {{**template, "options": [Name("two")]}}}},
          wait_for="complete")
""")
    stack.up()

    text = ascii("\ncost $5 ${PRICE} $(echo sub) `date` \\\nEOM\n")
    assert f"text {text} $5 ${{X}} $(PRICE) 5$ [1, 'a']" in stack.trainer("logs", "mine")
    assert "12 and 12 and sub" in stack.trainer("logs", "image")
    assert f"text {text}  None template" in stack.trainer("logs", "two")
    assert stack.job("function")["labels"] == {"team": "a"}
    assert stack.job("function")["annotations"] == {"note": "b"}
    assert "hidden-word" not in stack.export()
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_a_preview_shows_what_initializers_and_tuning_become_and_no_token(stack: Stack) -> None:
    stack.program(f"""{HEAD}
fetched = Initializer(
    dataset=S3DatasetInitializer("s3://bucket/data", access_key_id="plain-word",
                                 secret_access_key=pulumi.Output.secret("hidden-word")),
    model=HuggingFaceModelInitializer(storage_uri=later("hf://org/model"), access_token="third-word"),
)
TrainJob(
    "tuned",
    runtime="torchtune-llama3.2-1b",
    trainer=BuiltinTrainer(TorchTuneConfig(epochs=later(2), batch_size=4)),
    initializer=fetched,
    name="tuned",
)
""")
    shown = stack.preview()

    assert "SECRET_ACCESS_KEY" in shown
    assert "epochs=2" in shown
    for word in ("plain-word", "hidden-word", "third-word"):
        assert word not in shown


def test_a_runtime_of_another_type_is_refused_once_it_is_known(stack: Stack) -> None:
    stack.program(f"""{HEAD}
runtime = ClusterTrainingRuntime("tuning", catalog.get("torchtune-llama3.2-1b"))
TrainJob("job", runtime=runtime, trainer=Function(fit))
""")
    assert (
        "TrainJob job: runtime: is of torchtune, so no CustomTrainer can train on it, got 'tuning'; "
        "choose one of another framework, or give a BuiltinTrainer"
    ) in stack.preview(ok=False)


def test_a_secret_in_an_option_is_refused_by_its_path(stack: Stack) -> None:
    stack.program(f"""{HEAD}
TrainJob("job", runtime="plain-distributed", trainer=Function(fit),
         options=[Labels({{"token": pulumi.Output.secret("hidden-word")}})])
""")
    shown = stack.preview(ok=False)
    assert "TrainJob job: labels.token: cannot hold a secret" in shown
    assert "hidden-word" not in shown


def test_a_stacks_cache_of_packages_serves_trainers_of_every_kind(stack: Stack) -> None:
    stack.run("config", "set", "trainer:target", "kubernetes")
    stack.run("config", "set", "trainer:packages", "/var/cache/packages")
    stack.run("config", "set", "trainer:outputs", "pvc://models")
    stack.program(f"""{HEAD}
from trainer_infra import Trl
TrainJob("a", runtime="plain-distributed", trainer=Function(fit, packages_to_install=["six==1.17.0"]))
TrainJob("b", runtime="torch-distributed", outputs=["model"],
         trainer=Trl("sft", packages=["trl==1.16.0"]))
TrainJob("c", runtime="plain-distributed", trainer=Function(fit))
""")
    shown = stack.preview().split("trainer:TrainJob::")[1:]
    cached = {each[0]: re.findall(r"packagesAt *: (.*)", each) for each in shown}
    there = ['"/var/cache/packages"']
    assert cached == {"a": there, "b": there, "c": []}


def test_a_program_without_the_sdks_types_does_not_load_the_sdk(stack: Stack) -> None:
    stack.program("""
import sys
TrainJob("job", runtime="plain-distributed", trainer=CustomTrainer(train), options=None)
assert not [each for each in sys.modules if each.partition(".")[0] in {"kubeflow", "kubernetes"}]
""")
    stack.preview()
