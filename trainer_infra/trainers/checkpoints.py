"""What `checkpoint=` of a TrainJob arranges in its pods: the place, the time to end in, and torchrun's share of it.

A checkpoint's place is an output of the run. What a program reads of it stands in one env variable of the trainer,
so a manifest may have it too. The pods' `terminationGracePeriodSeconds` is a runtime patch (reference behaviour 5.1,
v2.3 or newer). torchrun kills its workers 30 s after it was told to end, whatever the pod's time, unless
`TORCH_ELASTIC_SHUTDOWN_TIMEOUT` says another (torch.distributed.elastic, `multiprocessing.api`). Pure.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.api.runtime import Runtime
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render.phases import Plugin
from trainer_infra.trainers import code_mount
from trainer_infra.trainers.claim_volumes import with_patch, with_spec

ELASTIC_TIMEOUT: Final = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
MARGIN: Final = 15
"""Seconds that pods have beyond a save: torchrun and the interpreter end after their workers."""
VARIABLE: Final = "TRAINER_INFRA_CHECKPOINT"
"""Of the trainer: what `in_pod.checkpoints.arrangement` reads."""
MANAGER: Final = "trainer-infra.dev/checkpoint"
_OUTPUT: Final = "checkpoints"


def output_of(given: JSONObject) -> dict[str, str]:
    """The output that a checkpoint adds to those of the run, with its address; none where it names one of them."""
    uri = str(given.get("uri") or "")
    if uri.startswith(checkpoint.OUTPUT):
        name = uri.removeprefix(checkpoint.OUTPUT)
        return {_OUTPUT: ""} if name == _OUTPUT else {}
    return {_OUTPUT: uri}


def arrangement(given: JSONObject, run: str) -> JSONDict:
    """What the program reads: see `in_pod.checkpoints.arrangement`."""
    uri, every = str(given.get("uri") or ""), given.get("every")
    seconds = checkpoint.seconds_of(every)
    place = uri if uri.startswith(checkpoint.OUTPUT) else checkpoint.DEFAULT_PLACE
    values: Mapping[str, Any] = {
        "place": place,
        "run": run,
        "every_steps": None if seconds is not None else every,
        "every_seconds": seconds,
        "keep": given.get("keep"),
        "resume": given.get("resume"),
        "on_preemption": given.get("onPreemption"),
        "save_seconds": given.get("saveSeconds"),
    }
    return {key: each for key, each in values.items() if each is not None}


def attach_checkpoint(
    job: JSONDict, runtime: Runtime, given: JSONObject, plugins: Iterable[Plugin]
) -> JSONDict:
    """A TrainJob whose program finds its checkpoints, and whose pods have the time to save one.

    Raises:
        InvalidInput: The runtime has no container that could save.
    """
    metadata = job["metadata"]
    run = f"{names.namespace_of(metadata.get('namespace'))}/{metadata['name']}"
    trainer = dict(job["spec"].get("trainer") or {})
    env = [*(trainer.get("env") or ())]
    known = {each["name"] for each in env}
    wanted = {
        VARIABLE: json.dumps(arrangement(given, run)),
        ELASTIC_TIMEOUT: str(given["saveSeconds"]),
    }
    env += [{"name": name, "value": each} for name, each in wanted.items() if name not in known]
    job = with_spec(job, trainer={**trainer, "env": env})
    grace = {"terminationGracePeriodSeconds": int(given["saveSeconds"]) + MARGIN}
    steps = code_mount.training_steps(runtime, plugins)
    return with_patch(job, MANAGER, dict.fromkeys(steps, grace))
