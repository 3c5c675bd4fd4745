"""A file and the command line's options -> what `local.runs` is asked to run.

A YAML file brings a TrainJob and may bring its runtime; a Python file is packed by CustomTrainer
onto a shipped runtime.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

import typer

from trainer_infra import catalog, names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog import one_job
from trainer_infra.cli import documents
from trainer_infra.cli.documents import CommandDocuments
from trainer_infra.cli.options import PythonRequest
from trainer_infra.errors import InvalidInput, Problem, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.local import capacity, unsupported_fields
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.review import file_text, source_objects
from trainer_infra.runs import identity
from trainer_infra.runs.run import Owner, Submission
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

COMMAND_LINE = Owner("", "", "")
"""The owner of what no Pulumi program declared."""
PLAIN: Final = one_job.PLAIN_DISTRIBUTED.name
"""The runtime of a Python file that names none: it needs nothing but Python."""
KINDS: Final = (
    "a Python file (FILE.py, FILE.py:FUNCTION), a folder (FOLDER:FILE.py), or a TrainJob in "
    f"{', '.join(source_objects.SUFFIXES)} or stdin (-)"
)
SHELL: Final = frozenset((".sh", ".bash", ".zsh"))


class RunUsage(TrainerInfraError):
    """The options do not fit each other or the file."""


@dataclass(frozen=True, slots=True)
class RunNaming:
    """What the run is called, and what renders it."""

    name: str | None
    """Of the run; in YAML the TrainJob to run."""
    namespace: str | None
    plugins: tuple[str, ...] = ()
    """Listed plugins, as `render.plugin_registry` takes them."""


def submission_of(file: str, named: RunNaming, python: PythonRequest) -> Submission:
    """What to run.

    Raises:
        RunUsage: the options do not fit the file.
        InvalidInput: holds every problem of the file, or of running it on this machine.
    """
    if re.fullmatch(r"Pulumi(\..+)?\.ya?ml", PurePath(file).name):
        raise RunUsage(f"{file} belongs to a Pulumi project: run `pulumi up` in its folder")
    if file == source_objects.STDIN or file_text.is_manifest(file):
        return _of_yaml(file, named, python)
    _check_kind(file)
    return _of_python(file, named, python)


def _check_kind(file: str) -> None:
    """Raise what to do about a file that is not Python's."""
    path = Path(file.partition(":")[0])
    if path.name == "__main__.py" and (path.parent / "Pulumi.yaml").is_file():
        raise RunUsage(f"{file} is the program of a Pulumi project: run `pulumi up` in its folder")
    if path.suffix == ".py" or path.is_dir() or not (path.suffix or path.is_file()):
        return
    # The program's folder is another one when it runs.
    script = path.absolute()
    fix = (
        f"; for a shell script write a TrainJob whose spec.trainer.command is [bash, {script}], or a "
        f'Python file with subprocess.run(["bash", "{script}"], check=True)'
    )
    raise RunUsage(
        f"{file} is not one of the files that `run` takes: {KINDS}{fix if _is_shell(path) else ''}"
    )


def _is_shell(path: Path) -> bool:
    if path.suffix in SHELL:
        return True
    with suppress(OSError), path.open("rb") as file:
        return re.match(rb"#!.*sh\b", file.readline(100)) is not None
    return False


def _of_yaml(file: str, named: RunNaming, python: PythonRequest) -> Submission:
    used = [name for name, value in python._asdict().items() if value]
    if used:
        shown = ", ".join("ARGS" if each == "words" else f"--{each}" for each in used)
        raise RunUsage(f"{shown}: only for a Python file; a TrainJob has it in its spec")
    found = documents.read_documents([file])
    given = CommandDocuments(found.documents)
    problems = (*found.problems, *given.problems())
    if problems:
        raise InvalidInput(problems)
    job = _only(given.jobs(), named.name, file)
    own = job.metadata.namespace
    if named.namespace and own and own != named.namespace:
        what = "is another namespace than --namespace"
        raise InvalidInput([Problem("metadata.namespace", what, own, where=file)])
    runtime = given.runtime_of(job)
    wire = job.to_wire()
    metadata = {**wire["metadata"], "namespace": names.namespace_of(own or named.namespace)}
    return _submission({**wire, "metadata": metadata}, runtime, named.plugins)


def _only(jobs: Sequence[TrainJob], name: str | None, file: str) -> TrainJob:
    """The one TrainJob of a file, or the one of that name."""
    matching = [each for each in jobs if name in (None, each.metadata.name)]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(each.metadata.name for each in jobs)
    if not jobs:
        problem = Problem("", "holds no TrainJob", where=file)
    elif name is None:
        what, fix = f"holds {len(jobs)} TrainJobs", f"choose one with --name: {known}"
        problem = Problem("", what, fix=fix, where=file)
    else:
        problem = Problem("--name", f"is not a TrainJob of {file}", name, f"it holds {known}")
    raise InvalidInput([problem])


def _of_python(file: str, named: RunNaming, python: PythonRequest) -> Submission:
    name = python.runtime or PLAIN
    runtime, package = catalog.find(name), tuple(python.package or ())
    if runtime is None:
        raise RunUsage(f"--runtime {name} is not in the catalog: {catalog.advice(name)}")
    trainer = CustomTrainer(
        file,
        func_args={key: _json(value) for key, value in _pairs("--arg", python.arg).items()},
        args=tuple(python.words or ()),
        num_nodes=python.nodes,
        resources_per_node={"cpu": python.cpu} if python.cpu else None,
        env=_pairs("--env", python.env),
        # Requirements, or the one lock file that is there.
        packages=package[0] if len(package) == 1 and Path(package[0]).is_file() else package,
    )
    packed = trainer.pack()
    if python.runtime is None:
        typer.echo(
            f"running on {PLAIN}; --runtime names another of `trainer-infra catalog`", err=True
        )
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {
            "name": named.name or name_of(file),
            "namespace": names.namespace_of(named.namespace),
        },
        "spec": {"runtimeRef": {"name": name}, "trainer": packed.trainer},
    }
    return _submission(job, runtime, named.plugins, packed.code)


def _submission(
    job: JSONObject, runtime: Runtime, plugins: tuple[str, ...], code: Code | None = None
) -> Submission:
    made = compose.compose(job, runtime, code, (), Behaviour(plugin_registry.plugins_with(plugins)))
    for warning in made.warnings:
        typer.echo(f"warning: {warning}", err=True)
    unsupported = unsupported_fields.unsupported_here(made.objects)
    if unsupported:
        raise InvalidInput(unsupported)
    for warning in capacity.capacity_warnings(made.objects, capacity.Machine.here()):
        typer.echo(f"warning: {warning}", err=True)
    return Submission(
        job=made.job.to_wire(),
        runtime=runtime.to_wire(),
        objects=made.objects,
        secret_data={},
        packages=code.packages if code else (),
        owner=COMMAND_LINE,
        content=identity.content(job, code, runtime.to_wire()),
        plugins=plugins,
    )


def name_of(file: str) -> str:
    """A run's name for `dir/train.py`, `train.py:function`, `folder:main.py` or `folder:package.module:function`.

    The file's or the module's name, of a `main` the folder's, in the letters that a TrainJob's name may have.
    """
    head, _, entry = file.partition(":")
    path = PurePath(head)
    stem = path.stem if path.suffix == ".py" else path.name
    started = entry.partition(":")[0].removesuffix(".py")
    if path.suffix != ".py" and started and started not in {"main", "__main__"}:
        stem = started
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).lstrip("0123456789-").rstrip("-") or "train"


def _pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    pairs = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise RunUsage(f"{option} wants KEY=VALUE, got {each!r}")
        pairs[key] = value
    return pairs


def _json(text: str) -> Any:
    """A JSON value; text that is none stands for itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
