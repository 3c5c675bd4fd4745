"""Outputs of a run: folders and URIs that are kept when the run is gone, by name.

`outputs=` of a TrainJob names them; where each one is kept is an address: `pvc://CLAIM/PATH` (a
volume claim), `/PATH` (a folder of this machine), or a URI that the program writes to itself
(`s3://`, `gs://`, `hf://`). `output_addresses` finds them, `attach_outputs` mounts them and tells
the program by env variables, which `trainer_infra.storage.output` reads. `tune run` reads no variable: what it writes
and reads is said in its arguments. Pure.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.render.torchtune import MANAGED, OUTPUT, runtime_items
from trainer_infra.trainers import checkpoints, code_mount, volume_address
from trainer_infra.trainers.claim_volumes import with_spec
from trainer_infra.trainers.code import Code

MODEL: Final = "model"
"""The output to which torchtune writes where nothing says another."""
CLAIM: Final = volume_address.CLAIM
PLACE: Final = "{namespace}/{run}/{name}"
"""Below the place of all outputs, so that no run writes over another one's."""
PLACEHOLDERS: Final = ("{namespace}", "{run}", "{name}")
FORMS: Final = "pvc://CLAIM/PATH, or a URI such as s3://BUCKET/PATH"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,30}[a-z0-9])?")
_WRITTEN_TO: Final = re.compile("output://([-a-z0-9]+)")
_ADDRESS: Final = re.compile(r"(?P<scheme>[a-z][-+.a-z0-9]*)://(?P<rest>\S+)|/[^\x00-\x1f\x7f]+")


def output_problems(given: Any, root: str, *, with_folders: bool) -> Iterator[Problem]:
    """What is wrong with outputs as they were given: name to address, or to nothing for a place below `root`.

    A folder of the machine is one that is kept on this machine alone, `with_folders`.
    """
    if not isinstance(given, Mapping):
        what = "must be a list of names, or a mapping of names to where each is kept"
        yield Problem("outputs", what, got=given)
        return
    for name, address in given.items():
        path = f"outputs[{name!r}]"
        if not _NAME.fullmatch(str(name)):
            fix = "use lower-case letters, digits and -, at most 32, beginning with a letter"
            yield Problem(path, "is not a valid output name", got=name, fix=fix)
        if address:
            yield from _of_address(path, address, with_folders=with_folders)
        elif not root:
            fix = (
                f"run `pulumi config set trainer:outputs ADDRESS` with {FORMS}, "
                "or give the output one: outputs={NAME: ADDRESS}"
            )
            yield Problem(path, "has no place in a cluster", fix=fix)
    if root:
        path = "stack configuration trainer:outputs"
        yield from _of_address(path, root, with_folders=with_folders)


def _of_address(path: str, address: Any, *, with_folders: bool) -> Iterator[Problem]:
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    forms = f"the path of a folder, {FORMS}" if with_folders else FORMS
    if found is None:
        yield _no_address(path, address, forms, with_folders=with_folders)
    elif volume_address.has_credentials(address):
        fix = "pass them in env as Secret(...)"
        yield Problem(path, "has credentials in it, and an address is shown", fix=fix)
    elif found["scheme"] == "pvc" and not volume_address.names_claim(address):
        yield Problem(path, "names no volume claim", got=address, fix="write pvc://CLAIM/PATH")
    elif found["scheme"] in {None, "file"} and not with_folders:
        what = "is a folder of whichever machine a pod runs on, and is lost with the pod"
        yield Problem(path, what, got=address, fix=f"write {forms}")
    elif found["scheme"] == "file":
        fix = f"write the path of the folder, /{found['rest'].lstrip('/')}"
        yield Problem(path, "is a folder of this machine", got=address, fix=fix)
    yield from _of_path(path, str(address))


def _no_address(path: str, address: Any, forms: str, *, with_folders: bool) -> Problem:
    """What is wrong with what is neither a URI nor the path of a folder: what can be named is."""
    text = address if isinstance(address, str) else ""
    if found := volume_address.refused_character(text):
        what, fix = f"has {found} in it, which an address cannot have", f"write {forms}"
    elif with_folders and text and ":" not in text:
        how = "expanduser()" if text.startswith("~") else "resolve()"
        what = "is not an absolute path"
        fix = f'write its whole path, str(Path("{text}").{how}), or {FORMS}'
    else:
        what, fix = "is not an address", f"write {forms}"
    return Problem(path, what, got=address, fix=fix)


def _of_path(path: str, address: str) -> Iterator[Problem]:
    if ".." in address.split("/"):
        yield Problem(path, "may not have .. in it", got=address)
    for placeholder in re.findall("{[^{}]*}", address):
        if placeholder not in PLACEHOLDERS:
            what, fix = "which stands for nothing", f"use {', '.join(PLACEHOLDERS)}"
            yield Problem(path, f"has {placeholder} in it, {what}", address, fix)


def missing_outputs(job: JSONDict, code: Code | None, kept: Collection[str]) -> Iterator[Problem]:
    """Outputs that a trainer's program writes to, `output://NAME`, and that the TrainJob does not have.

    Settings of a framework are in the code's launch.json.
    """
    trainer = job["spec"].get("trainer") or {}
    launch = code.files.get("launch.json", "") if code else ""
    texts = (*(trainer.get("args") or ()), launch, checkpoints.variable_text(trainer))
    used = {name for text in texts for name in _WRITTEN_TO.findall(text)}
    for name in sorted(used - set(kept)):
        fix = f'add it, outputs=["{name}"], or give the trainer another output='
        yield Problem("outputs", f"has no {name!r}, where the trainer writes", fix=fix)


def output_addresses(given: Mapping[str, str], root: str, run: Mapping[str, str]) -> dict[str, str]:
    """Where each output of a run is kept: at its address, or below `root`.

    `{run}`, its name, and `{namespace}` in either are those of the run.
    """
    found: dict[str, str] = {}
    for name, address in given.items():
        found[name] = address or f"{root.rstrip('/')}/{PLACE}"
        for key, value in {**run, "name": name}.items():
            found[name] = found[name].replace(f"{{{key}}}", value)
    return found


def attach_outputs(
    job: JSONDict, runtime: Runtime, kept: Mapping[str, str], plugins: Iterable[Plugin] = PLUGINS
) -> JSONDict:
    """A TrainJob whose trainer finds its outputs, of which `kept` has the addresses by name.

    Raises:
        InvalidInput: The runtime has no container that could write them.
    """
    if not kept:
        return job
    # The engine keeps no order of a mapping, and what is created must be what was shown.
    kept = dict(sorted(kept.items()))
    folders = {name: each for name, each in kept.items() if volume_address.is_folder(each)}
    env = [
        {"name": output_variable(name), "value": output_mount(name) if name in folders else address}
        for name, address in kept.items()
    ]
    trainer = dict(job["spec"].get("trainer") or {})
    if trainer.get("command"):
        # No program of ours starts it, which would find the outputs in the arguments.
        places = {each["name"]: each["value"] for each in env}

        def place(found: re.Match[str]) -> str:
            return places.get(output_variable(found[1]), found[0])

        for part in ("command", "args"):
            if trainer.get(part):
                trainer[part] = [_WRITTEN_TO.sub(place, each) for each in trainer[part]]
    job = with_spec(job, trainer={**trainer, "env": [*(trainer.get("env") or ()), *env]})
    volumes, mounts = [], []
    for name, address in folders.items():
        volume = f"{names.OUTPUTS_VOLUME}-{name}"
        volumes.append(volume_address.volume_of(volume, address))
        mounts.append(volume_address.mount_of(volume, address, output_mount(name)))
    if folders:
        mounting = code_mount.Mounting(names.OUTPUTS_MANAGER, volumes, mounts)
        job = mounting.mounted(job, runtime, plugins)
    return code_mount.annotated(job, {names.OUTPUTS: json.dumps(kept)})


def output_variable(name: str) -> str:
    """The env variable in which a program finds an output."""
    return f"{names.OUTPUT_VARIABLE}{name.upper().replace('-', '_')}"


def output_mount(name: str) -> str:
    """Where an output that is a folder is mounted."""
    return f"{names.OUTPUTS_MOUNT}/{name}"


def with_output_dir(job: JSONDict, kept: Collection[str]) -> JSONDict:
    """The TrainJob that writes to its output `model`, if it has one and does not say where it writes."""
    trainer = _tunes(job)
    args = (trainer or {}).get("args") or ()
    if trainer is None or MODEL not in kept or any(each.startswith(f"{OUTPUT}=") for each in args):
        return job
    written = [*args, f"{OUTPUT}={output_mount(MODEL)}"]
    return with_spec(job, trainer={**trainer, "args": written})


def as_the_reference_takes_it(job: JSONDict, runtime: Runtime) -> JSONDict:
    """The TrainJob for a controller that refuses output_dir, and that drops the runtime's other items."""
    trainer = _tunes(job)
    if trainer is None:
        return job
    # An output_dir of the user's own the controller refuses in its own words.
    ours = (f"{OUTPUT}=output://", f"{OUTPUT}={names.OUTPUTS_MOUNT}/")
    args = [each for each in trainer.get("args") or () if not each.startswith(ours)]
    template = runtime.spec.template
    spec = (template.spec if template else None) or {}
    items = (each for each in runtime_items(spec, args) if each.partition("=")[0] not in MANAGED)
    return with_spec(job, trainer={**trainer, "args": [*items, *args]})


def unwritten_outputs(job: JSONDict, kept: Mapping[str, str]) -> Iterator[Problem]:
    """Outputs that `tune run` does not write, and those that it cannot write; they are attached to the TrainJob."""
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
