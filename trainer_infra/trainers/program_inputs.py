"""What a library's program will look for and not find, as far as a preview knows: its data, and a package. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.one_job import TORCH_IMAGE
from trainer_infra.errors import Problem
from trainer_infra.in_pod.initializers.settings import TARGETS
from trainer_infra.in_pod.initializers.storage_uri import SCHEMES
from trainer_infra.json_values import JSONObject
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
    job: JSONObject, code: Code | None, objects: Sequence[JSONObject]
) -> Iterator[Problem]:
    """A problem for each folder that a program reads and no initializer fills, and for each URI that it cannot read."""
    yield from _uris(job, code)
    volumes = list(_own_volumes(objects))
    for kind, path in _unfetched(job, code):
        if _is_in(path, volumes):
            what = f"is not given, and the program reads {path}, which only this initializer fills"
            fix = f'give initializer={{"{kind}": {{"storageUri": ...}}}}, or {kind}= of the trainer'
            yield Problem(f"initializer.{kind}", what, fix=fix)


def missing_inputs(
    job: JSONObject, code: Code | None, objects: Sequence[JSONObject]
) -> Iterator[str]:
    """A sentence for each folder that a program reads and no volume has, and for each package that it lacks."""
    volumes = [mount for mount, _ in _mounts(objects)]
    for kind, path in _unfetched(job, code):
        if not _is_in(path, volumes):
            yield (
                f"the program reads {path}, which no initializer and no volume has: use a runtime with "
                f"initializers and give initializer=, or give {kind}= of the trainer"
            )
    program = str(code.launch().get("program", "")) if code else ""
    nodes = list(_nodes(objects))
    plain_image = any(each["image"] == TORCH_IMAGE for each in nodes)
    if code and program and not code.packages and plain_image:
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
    for kind, value in _inputs(job, code):
        if not given.get(kind) and _is_in(value, [TARGETS[kind]]):
            yield kind, value


def _uris(job: JSONObject, code: Code | None) -> Iterator[Problem]:
    """URIs where a program takes folders and names on the Hub alone: only initializers know them."""
    for kind, value in _inputs(job, code):
        scheme, sign, rest = value.partition("://")
        if sign and scheme.lower() in SCHEMES and scheme.lower() != "https":
            own = {"file": f"/{rest.lstrip('/')}", "hf": rest}.get(scheme.lower())
            fix = f"write {own}, or give the URI to" if own else "give it to"
            fetched = f'initializer={{"{kind}": {{"storageUri": {value!r}}}}}'
            what = "is a folder or a name on the Hub, and no URI"
            yield Problem(kind, what, got=value, fix=f"{fix} {fetched}")


def _inputs(job: JSONObject, code: Code | None) -> Iterator[tuple[str, str]]:
    """What a program is told to read: what an initializer fetches of that kind, and the option's value."""
    if code and "program" in code.launch():
        yield from (
            (kind, each) for kind, options in READ.items() for each in _values(job, options)
        )


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in folders)


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


def _own_volumes(objects: Sequence[JSONObject]) -> Iterator[str]:
    """Where a run's own volume for initializers is mounted, which is empty without them."""
    own = {
        template["metadata"]["name"]
        for each in objects
        if each["kind"] == "JobSet"
        for policy in each["spec"].get("volumeClaimPolicies") or ()
        for template in policy.get("templates") or ()
    }
    return (path for path, volume in _mounts(objects) if volume in own & {names.INITIALIZER_VOLUME})


def _nodes(objects: Sequence[JSONObject]) -> Iterator[JSONObject]:
    for item in objects:
        jobs = item["spec"]["replicatedJobs"] if item["kind"] == "JobSet" else ()
        for each in jobs:
            containers = each["template"]["spec"]["template"]["spec"]["containers"]
            yield from (found for found in containers if found["name"] == names.NODE)


def _mounts(objects: Sequence[JSONObject]) -> Iterator[tuple[str, str]]:
    for container in _nodes(objects):
        for mount in container.get("volumeMounts") or ():
            yield mount["mountPath"].rstrip("/"), mount["name"]
