"""What a library's program will look for and not find, as far as a preview knows: its data, and a package.

Pure.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.one_job import TORCH_IMAGE
from trainer_infra.errors import Problem
from trainer_infra.in_pod.initializers.settings import TARGETS
from trainer_infra.in_pod.initializers.storage_uri import SCHEMES
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resources
from trainer_infra.trainers.code import Code

READ: Final = {
    "dataset": ("dataset", "dataset_dir", "dataset_name"),
    "model": ("model", "model_name_or_path"),
}
"""What an initializer fetches -> options of programs that read it."""
LIBRARIES: Final = {"unsloth_cli": "unsloth"}
"""Modules of programs -> packages that have them, under another name."""
QUANTIZED: Final = ("load_in_4bit", "load_in_8bit", "quantization_bit")
"""Options of programs that hold weights in fewer bits, which is done on a GPU alone."""
REPORTERS: Final = {
    "azure_ml": ("azureml-core", "azureml-mlflow"),
    "clearml": ("clearml",),
    "codecarbon": ("codecarbon",),
    "comet_ml": ("comet-ml",),
    "dagshub": ("dagshub",),
    "dvclive": ("dvclive",),
    "flyte": ("flytekit",),
    "mlflow": ("mlflow", "mlflow-skinny"),
    "neptune": ("neptune", "neptune-client"),
    "swanlab": ("swanlab",),
    "tensorboard": ("tensorboard", "tensorboardx"),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
"""Values of `report_to` of transformers' Trainer -> packages of which each needs one."""


def unfetched_inputs(
    job: JSONObject, code: Code | None, objects: Iterable[JSONObject]
) -> Iterator[Problem]:
    """A problem for each folder that a program reads and no initializer fills, and for each URI that it cannot read.

    Args:
        job: TrainJob in wire form.
        code: what it runs.
        objects: what it becomes.
    """
    yield from _uris(job, code)
    volumes = list(_own_volumes(objects))
    for kind, path in _unfetched(job, code):
        if any(path == mount or path.startswith(f"{mount}/") for mount in volumes):
            yield Problem(
                f"initializer.{kind}",
                f"is not given, and the program reads {path}, which only this initializer fills",
                fix=f'give initializer={{"{kind}": {{"storageUri": ...}}}}, or {kind}= of the trainer',
            )


def missing_inputs(
    job: JSONObject, code: Code | None, objects: Iterable[JSONObject]
) -> Iterator[str]:
    """A sentence for each folder that a program reads and no volume has, and for each package that it lacks.

    Args:
        job: TrainJob in wire form.
        code: what it runs.
        objects: what it becomes.
    """
    volumes = list(_mounts(objects))
    for kind, path in _unfetched(job, code):
        if not any(path == mount or path.startswith(f"{mount}/") for mount, _ in volumes):
            yield (
                f"the program reads {path}, which no initializer and no volume has: use a runtime with "
                f"initializers and give initializer=, or give {kind}= of the trainer"
            )
    program = str(code.launch().get("program", "")) if code else ""
    nodes = list(_nodes(objects))
    if (
        code
        and program
        and not code.packages
        and any(each["image"] == TORCH_IMAGE for each in nodes)
    ):
        module = re.split("[.:]", program)[0]
        library = LIBRARIES.get(module, module)
        yield (
            f"the program is of {library}, which the image {TORCH_IMAGE} does not have, nor packages=: give "
            f'packages=["{library}==<version>"], or image=; on this machine the Python that runs `pulumi` '
            "has to have it then"
        )
    has_devices = any(resources.devices(each.get("resources") or {}) for each in nodes)
    if program and not has_devices and {*_values(job, QUANTIZED)} - {"false"}:
        yield (
            "quantized weights need a GPU, and a node asks for none: the run fails where it loads the model; "
            'give resources_per_node={"gpu": 1}, or leave quantize out'
        )
    for reporter in _reporters(job, code):
        if code and code.packages and not _has_one(code, REPORTERS.get(reporter, ())):
            name = REPORTERS[reporter][0]
            yield (
                f"report_to is {reporter}, and packages= has no {name}: the program fails unless "
                f"another package or the image brings it; add {name} with its version"
            )


def _unfetched(job: JSONObject, code: Code | None) -> Iterator[tuple[str, str]]:
    """What a program reads of an initializer's folders and the TrainJob does not fetch."""
    given = job["spec"].get("initializer") or {}
    if code is None or "program" not in code.launch():
        return
    for kind, options in READ.items():
        target = TARGETS[kind]
        for value in _values(job, options):
            if not given.get(kind) and (value == target or value.startswith(f"{target}/")):
                yield kind, value


def _uris(job: JSONObject, code: Code | None) -> Iterator[Problem]:
    """URIs where a program takes folders and names on the Hub alone: only initializers know them."""
    if code is None or "program" not in code.launch():
        return
    for kind, options in READ.items():
        for value in _values(job, options):
            scheme, sign, rest = value.partition("://")
            if sign and scheme.lower() in SCHEMES and scheme.lower() != "https":
                own = {"file": f"/{rest.lstrip('/')}", "hf": rest}.get(scheme.lower())
                fix = f"write {own}, or give the URI to" if own else "give it to"
                fetched = f'initializer={{"{kind}": {{"storageUri": {value!r}}}}}'
                what = "is a folder or a name on the Hub, and no URI"
                yield Problem(kind, what, got=value, fix=f"{fix} {fetched}")


def _values(job: JSONObject, options: Iterable[str]) -> Iterator[str]:
    """Values of options in the arguments, each of which is one word."""
    for each in (job["spec"].get("trainer") or {}).get("args") or ():
        option, _, value = str(each).removeprefix("--").partition("=")
        if str(each).startswith("--") and option in options:
            yield value


def _reporters(job: JSONObject, code: Code | None) -> list[str]:
    launch = code.launch() if code else {}
    settings = (launch.get("framework") or {}).get("settings") or {}
    framed = (settings.get("options") or {}).get("report_to") or ()
    given = [*_values(job, ("report_to",)), *([framed] if isinstance(framed, str) else framed)]
    return [each for each in given if each in REPORTERS]


def _has_one(code: Code, wanted: Iterable[str]) -> bool:
    found = {re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0] for each in code.packages}
    return not {re.sub("[._-]+", "-", each).lower() for each in found}.isdisjoint(wanted)


def _own_volumes(objects: Iterable[JSONObject]) -> Iterator[str]:
    """Where a run's own volume for initializers is mounted, which is empty without them."""
    listed = list(objects)
    own = {
        template["metadata"]["name"]
        for each in listed
        if each["kind"] == "JobSet"
        for policy in each["spec"].get("volumeClaimPolicies") or ()
        for template in policy.get("templates") or ()
    }
    return (path for path, volume in _mounts(listed) if volume in own & {names.INITIALIZER_VOLUME})


def _nodes(objects: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """The containers that train."""
    for item in objects:
        jobs = item["spec"]["replicatedJobs"] if item["kind"] == "JobSet" else ()
        for container in (found for each in jobs for found in _containers(each)):
            if container["name"] == names.NODE:
                yield container


def _mounts(objects: Iterable[JSONObject]) -> Iterator[tuple[str, str]]:
    """Path and volume of each of their mounts."""
    for container in _nodes(objects):
        for mount in container.get("volumeMounts") or ():
            yield mount["mountPath"].rstrip("/"), mount["name"]


def _containers(job: JSONDict) -> list[JSONDict]:
    found: list[JSONDict] = job["template"]["spec"]["template"]["spec"]["containers"]
    return found
