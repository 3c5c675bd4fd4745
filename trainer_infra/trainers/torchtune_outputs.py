"""What a TrainJob with `tune run` writes and reads, beside what its runtime's command says.

Pure.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.render.torchtune import MANAGED, OUTPUT, runtime_items
from trainer_infra.trainers import volume_address
from trainer_infra.trainers.kept_outputs import output_mount

MODEL: Final = "model"
"""The output to which torchtune writes where nothing says another."""


def with_output_dir(job: JSONDict, kept: Collection[str]) -> JSONDict:
    """The TrainJob that writes to its output `model`, unless it says where it writes.

    Args:
        job: in wire form; not changed.
        kept: names of its outputs.
    """
    trainer = _tunes(job)
    args = (trainer or {}).get("args") or ()
    if trainer is None or MODEL not in kept or any(each.startswith(f"{OUTPUT}=") for each in args):
        return job
    written = [*args, f"{OUTPUT}={output_mount(MODEL)}"]
    return {**job, "spec": {**job["spec"], "trainer": {**trainer, "args": written}}}


def as_the_reference_takes_it(job: JSONDict, runtime: Runtime) -> JSONDict:
    """The TrainJob for a controller that refuses output_dir, and that drops the runtime's other items.

    Args:
        job: in wire form; not changed.
        runtime: what it runs on.
    """
    trainer = _tunes(job)
    if trainer is None:
        return job
    # An output_dir of the user's own the controller refuses in its own words.
    ours = (f"{OUTPUT}=output://", f"{OUTPUT}={names.OUTPUTS_MOUNT}/")
    args = [each for each in trainer.get("args") or () if not each.startswith(ours)]
    template = runtime.spec.template
    spec = (template.spec if template else None) or {}
    items = (each for each in runtime_items(spec, args) if each.partition("=")[0] not in MANAGED)
    return {**job, "spec": {**job["spec"], "trainer": {**trainer, "args": [*items, *args]}}}


def unwritten_outputs(job: JSONDict, kept: Mapping[str, str]) -> Iterator[Problem]:
    """Outputs that `tune run` does not write, and those that it cannot write.

    Args:
        job: in wire form, its outputs attached.
        kept: name to address.
    """
    trainer = _tunes(job)
    if trainer is None:
        return
    args = trainer.get("args") or ()
    written = {each.partition("=")[2] for each in args if each.startswith(f"{OUTPUT}=")}
    for name, address in kept.items():
        path = f"outputs[{name!r}]"
        if not volume_address.is_folder(address):
            fix = "write pvc://CLAIM/PATH"
            yield Problem(path, "must be a folder: torchtune writes into one", address, fix)
        elif not any(f"{each}/".startswith(f"{output_mount(name)}/") for each in written):
            fix = (
                f"give output=output://{name} of TorchTune, or {OUTPUT}=output://{name} in spec.trainer.args; "
                "Kubeflow Trainer's own controller takes neither: leave the output out there"
            )
            yield Problem(path, f"is written by nothing: torchtune writes to {OUTPUT}", fix=fix)


def _tunes(job: JSONDict) -> JSONDict | None:
    """The trainer of a TrainJob whose command is exactly `tune run`."""
    trainer: JSONDict = job["spec"].get("trainer") or {}
    return trainer if tuple(trainer.get("command") or ()) == names.TUNE_RUN else None
