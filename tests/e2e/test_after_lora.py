"""After LoRA: an adapter is merged, the merged model is trained by preferences, evaluated, and let through a gate."""

import json
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import initializer_image, package_image, python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from tests.e2e.fine_tuning import TRAINING, VOLUME, script

PROGRAM = """
import json, pathlib
from trainer_infra import CustomTrainer, Trl
place = json.loads(pathlib.Path("place.json").read_text())
LORA = {{"r": 4, "target_modules": ["q_proj", "v_proj"]}}
ON_CPU = {{"use_cpu": True, "bf16": False, "report_to": "none", "max_steps": 6, "learning_rate": 0.01,
          "per_device_train_batch_size": 2, "gradient_checkpointing": False, "logging_steps": 2}}
LITTLE = {{"requests": {{"cpu": "50m", "memory": "64Mi"}}}}

def run(name, trainer, dataset, model, **more):
    fetch = {{"dataset": {{"storageUri": f"{{place['source']}}/{{dataset}}"}}, "model": {{"storageUri": model}}}}
    return TrainJob(name, runtime=place["runtime"], namespace=place["ns"], trainer=trainer, initializer=fetch,
                    wait_for="complete", **more)

where = dict(num_nodes=1, num_proc_per_node=1, resources_per_node=LITTLE, env=place["env"])
tune = dict(lora=LORA, merge=True, options=ON_CPU, **where)
kept = dict(outputs=place["outputs"])
sft = run("sft", Trl("sft", **tune), "sft", f"{{place['source']}}/model", **kept)
dpo = run("dpo", Trl("dpo", **tune), "preferences", sft.outputs["model"], **kept)
gate = run("gate", CustomTrainer("{training}/evaluate.py:evaluate", func_args={{"at_most": place["at_most"]}}, **where),
           "sft", dpo.outputs["model"])
pulumi.export("sft", sft.outputs["model"])
pulumi.export("dpo", dpo.outputs["model"])
# Nothing is learned: what it writes is the base with the first adapter in its weights.
still = Trl("sft", adapter=sft.outputs["model"].apply(lambda model: model + "/adapter"),
            options={{**ON_CPU, "max_steps": 1, "learning_rate": 0.0}}, **where)
same = run("same", still, "sft", f"{{place['source']}}/model", **kept)
pulumi.export("loss", gate.metrics["loss"])
pulumi.export("same", same.outputs["model"])
"""
RUNTIME = "torch-distributed-with-initializers"


def up(stack: Stack, place: dict[str, Any], *, ok: bool = True) -> str:
    (stack.folder / "place.json").write_text(json.dumps(place))
    stack.program(PROGRAM.format(training=TRAINING))
    return stack.up(ok=ok)


def test_on_this_machine(stack: Stack, source: Path, libraries: dict[str, str]) -> None:
    stack.run("config", "set", "trainer:target", "local")
    place = {
        "ns": "default",
        "env": libraries,
        "source": source.as_uri(),
        "runtime": RUNTIME,
        "outputs": ["model"],
        "at_most": 100.0,
    }
    up(stack, place)
    found = stack.outputs()
    assert 0 < float(found["loss"]) < 100

    first, second = Path(found["sft"]), Path(found["dpo"])
    for merged in (first, second):
        assert (merged / "config.json").is_file()
        assert (merged / "tokenizer.json").is_file()
    bases = [
        json.loads((each / "adapter" / "adapter_config.json").read_text())[
            "base_model_name_or_path"
        ]
        for each in (first, second)
    ]
    assert bases == [str(source / "model"), str(first)]
    printed = script(libraries, "load_merged.py", str(first), str(second), found["same"])
    assert json.loads(printed.splitlines()[-1]) == {"first": True, "second": True, "same": True}

    said = up(stack, {**place, "at_most": 0.001}, ok=False)
    assert "and may be 0.001 at most" in said
    names = {run["name"].rpartition("-")[0]: run["phase"] for run in stack.runs()}
    done = dict.fromkeys(("sft", "dpo", "same"), "Complete")
    assert names == {**done, "gate": "Failed"}


@pytest.mark.soak
def test_on_a_cluster(
    tmp_path: Path,
    cluster_stack: Stack,
    namespace: Namespace,
    image: str,
    source: Path,
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    volume = VOLUME.format(name=namespace.name, folder=models)
    namespace.kubectl("apply", "--filename", "-", given=volume)
    packages = [python.environment(each) for each in ("trainers", "torch")]
    fetching = package_image.loaded(initializer_image.IMAGE)
    made = runtimes.that_fetches(RUNTIME, (image, fetching), packages, source)
    place = {
        "ns": namespace.name,
        "env": {"HF_HUB_OFFLINE": "1"},
        "source": f"file://{runtimes.SOURCE}",
        "runtime": made.to_wire(),
        "outputs": {"model": "pvc://models/{run}"},
        "at_most": 100.0,
    }
    try:
        up(cluster_stack, place)
        assert 0 < float(cluster_stack.outputs()["loss"]) < 100
    finally:
        namespace.kubectl("delete", "pv", namespace.name, "--wait=false")
