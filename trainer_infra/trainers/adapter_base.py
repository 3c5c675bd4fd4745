"""Tells a program that trains a LoRA adapter where its base model is from: the folder of it goes with the run.

Called by `deploy.operations.rendering`. The program's launcher writes it into the adapter: in_pod/lora_adapter.py.
"""

import json

from trainer_infra.in_pod.lora_adapter import MODEL_URI
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.code import Code


def with_model_uri(job: JSONDict, code: Code | None) -> JSONDict:
    """The TrainJob whose trainer has the address of its model in a variable, if it trains an adapter.

    Args:
        job: in wire form; not changed.
        code: what starts, whose launch.json says whether it trains one.
    """
    launch = json.loads(code.files.get("launch.json", "{}")) if code else {}
    model = (job["spec"].get("initializer") or {}).get("model") or {}
    uri = model.get("storageUri")
    if "adapter" not in launch or not uri:
        return job
    trainer = job["spec"].get("trainer") or {}
    env = [*(trainer.get("env") or ()), {"name": MODEL_URI, "value": uri}]
    return {**job, "spec": {**job["spec"], "trainer": {**trainer, "env": env}}}
