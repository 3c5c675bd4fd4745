"""LoRA adapters in a TrainJob: where the base model of one is from, and the claim of one to begin with.

The folder of the base goes with the run, so the program's launcher, in_pod/lora_adapter.py, writes
its address into the adapter. Pure.
"""

from collections.abc import Callable, Iterable

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.catalog import initializers
from trainer_infra.in_pod.lora_adapter import MODEL_URI
from trainer_infra.json_values import JSONDict
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.trainers import claim_volumes, code_mount, volume_address
from trainer_infra.trainers.code import Code


def with_model_uri(job: JSONDict, code: Code | None) -> JSONDict:
    """The TrainJob whose trainer has the address of its model in a variable, if its code trains an adapter."""
    launch = code.launch() if code else {}
    uri = initializers.storage_uri(job, "model")
    if "adapter" not in launch or not uri:
        return job
    trainer = job["spec"].get("trainer") or {}
    env = [*(trainer.get("env") or ()), {"name": MODEL_URI, "value": uri}]
    return claim_volumes.with_spec(job, trainer={**trainer, "env": env})


def with_adapter_claim(
    job: JSONDict,
    runtime: Runtime,
    code: Code | None,
    place: Callable[[str], str],
    plugins: Iterable[Plugin] = PLUGINS,
) -> JSONDict:
    """The TrainJob whose trainer sees the claim in which the adapter is that it begins with, by its launch.json.

    `place` has the address of a claim, `pvc://CLAIM`, on the run's target.

    Raises:
        InvalidInput: The runtime has no container that could read it.
    """
    launch = code.launch() if code else {}
    adapter = str(launch.get("begins_with", {}).get("adapter", ""))
    if not adapter.startswith(volume_address.CLAIM):
        return job
    volume, mount = claim_volumes.of_claim(adapter, place)
    mounting = code_mount.Mounting(names.ADAPTER_MANAGER, [volume], [mount])
    return mounting.mounted(job, runtime, plugins)
