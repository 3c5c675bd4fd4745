"""CustomTrainer: the user's own training code as a TrainJob's trainer.

Users construct it; the deploy room and the command line call `pack` at preview. What comes out
goes to `code.attach_code`. The defects it avoids: SDK contract 3.2.
"""

import functools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Self

from trainer_infra import in_pod, names
from trainer_infra.api import quantity
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers import package_mounts, volume_address
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom import (
    env_and_args,
    file_mounts,
    files,
    folder,
    func_args,
    function,
    lock_file,
    packages,
)
from trainer_infra.trainers.custom.source import CodeSource
from trainer_infra.trainers.input import Input
from trainer_infra.trainers.secret import Secret
from trainer_infra.trainers.trainer import PackedTrainer

Train = Callable[..., object] | str | os.PathLike[str]

KUBEFLOW: Final = {"func": "train", "packages_to_install": "packages"}
"""Names that the kubeflow SDK has for fields of ours."""
SHORT = {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}
VERBATIM = frozenset({"requests", "limits", "claims"})


@dataclass(frozen=True, slots=True)
class CustomTrainer:
    """Trains with the user's own code: a function, a file or a folder."""

    train: Train | Input[str] | None = None
    """A function whose imports are inside it, or a path: `train.py`, `folder:main.py`,
    `train.py:function`, `folder:package.module:function`. Paths are relative to the working
    directory; the job's working directory is not the code's folder, which is read-only."""
    _: KW_ONLY
    func_args: Input[Mapping[str, Any] | None] = None
    """Arguments of the function by name: JSON values, whose types are kept, numbers and arrays of
    numpy, and Secrets of them."""
    args: Input[Sequence[Input[str]] | None] = None
    """Arguments of a script, handed over exactly."""
    num_nodes: Input[int | None] = None
    """Pods; the runtime's number when not given."""
    num_proc_per_node: Input[int | None] = None
    """Processes in each pod; the runtime's rule when not given."""
    resources_per_node: Input[Mapping[str, Any] | None] = None
    """Amounts of each pod, for example `{"cpu": 1, "gpu": 2, "memory": "4Gi"}`, or
    ResourceRequirements with `requests` and `limits`."""
    env: Input[Mapping[str, Input[str] | Secret | Mapping[str, Any]] | None] = None
    """Env variables: text, handed over exactly, a Secret, or `{"valueFrom": ...}`."""
    files: Input[Mapping[str, Secret | Input[str] | Mapping[str, Any]] | None] = None
    """Files of a pod, by absolute path: a Secret with their text, `{"secretKeyRef": ...}` or
    `{"configMapKeyRef": ...}` as an env variable has them."""
    image: Input[str | None] = None
    """Container image; the runtime's when not given."""
    packages: Input[Sequence[Input[str]] | str | os.PathLike[str] | None] = None
    """Pinned requirements, `name==version`, that are installed before the training; or the path of a
    lock file (`trainer-infra lock`), which is installed exactly as it is."""
    pip_index_urls: Input[Sequence[Input[str]] | None] = None
    """Indexes that they come from, without credentials: the first replaces the installer's own, the
    rest are asked as well."""
    wheel_house: Input[str | None] = None
    """A folder of wheels that they come from instead, where no index can be reached: the path of one in
    the pod (on the local target, of this machine), or `pvc://CLAIM/PATH`."""
    packages_at: Input[str | None] = None
    """Where a cluster keeps them between runs: `pvc://CLAIM/PATH`, or `/PATH`, a folder of each node;
    what the stack configuration `trainer:packages` says when not given."""
    image_has_packages: Input[bool | None] = None
    """True where the image has them already: then only the local target installs them."""
    func: Train | Input[str] | None = None
    """What the kubeflow SDK calls `train`."""
    packages_to_install: Input[Sequence[Input[str]] | str | os.PathLike[str] | None] = None
    """What the kubeflow SDK calls `packages`."""

    def pack(self) -> PackedTrainer:
        """The code, the trainer and the secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        twice = [
            Problem(theirs, f"is the same as {ours}, and both are given", fix="keep one of them")
            for theirs, ours in KUBEFLOW.items()
            if getattr(self, theirs) is not None and getattr(self, ours) is not None
        ]
        if twice:
            raise InvalidInput(twice)
        try:
            return _Plain.of(self).pack()
        except InvalidInput as error:
            used = {
                ours: theirs
                for theirs, ours in KUBEFLOW.items()
                if getattr(self, theirs) is not None
            }
            raise InvalidInput(_called(each, used) for each in error.problems) from None


def _called(problem: Problem, used: Mapping[str, str]) -> Problem:
    """The problem with the field's name that the user wrote."""
    field, bracket, rest = problem.path.partition("[")
    return replace(problem, path=f"{used.get(field, field)}{bracket}{rest}")


@dataclass(frozen=True, slots=True)
class _Plain:
    """The fields of a CustomTrainer under our own names, with Python's own values in them."""

    train: Any
    func_args: Any
    args: Any
    num_nodes: Any
    num_proc_per_node: Any
    resources_per_node: Any
    env: Any
    files: Any
    image: Any
    packages: Any
    pip_index_urls: Any
    wheel_house: Any
    packages_at: Any
    image_has_packages: Any

    @classmethod
    def of(cls, trainer: CustomTrainer) -> Self:
        """What a trainer was given."""
        given = {each.name: getattr(trainer, each.name) for each in fields(cls)}
        for theirs, ours in KUBEFLOW.items():
            if getattr(trainer, theirs) is not None:
                given[ours] = getattr(trainer, theirs)
        return cls(**{name: as_python(value) for name, value in given.items()})

    def pack(self) -> PackedTrainer:
        """As `CustomTrainer.pack`."""
        problems = list(self._shapes())
        if problems:
            raise InvalidInput(problems)
        try:
            source: CodeSource | None = _source(self.train)
        except InvalidInput as error:
            source = None
            problems += error.problems
        problems += self._problems(source)
        try:
            wanted = self._package_lines()
        except InvalidInput as error:
            wanted = ()
            problems += error.problems
        if problems or source is None:
            raise InvalidInput(problems)
        plain, secret = _split(self.func_args or {})
        in_image = bool(wanted and self.image_has_packages)
        travelling = _files(source, plain)
        travelling |= _installing_files() if wanted and not in_image else {}
        place = (self.packages_at or "") if wanted else ""
        references = file_mounts.file_references(self.files or {})
        code = Code(travelling, wanted, bool(secret), in_image, place, references)
        sizes = {
            path: len(text.encode()) for path, text in package_mounts.mounted_files(code).items()
        }
        over = tuple(folder.too_large(sizes, source.where))
        if over:
            raise InvalidInput(over)
        return PackedTrainer(code, self._trainer(), self._secret_data(secret))

    def _shapes(self) -> Iterator[Problem]:
        for path in ("func_args", "resources_per_node", "env", "files"):
            value = getattr(self, path)
            if value is None:
                continue
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                yield Problem(path, "must be a mapping with text keys", got=value)
        for path in ("args", "packages", "pip_index_urls"):
            value = getattr(self, path)
            if path == "packages" and isinstance(value, str | os.PathLike):
                continue
            if value is not None and not isinstance(value, list | tuple):
                yield Problem(path, "must be a list of texts", got=value)

    def _problems(self, source: CodeSource | None) -> Iterator[Problem]:
        given = self.func_args or {}
        if source is not None:
            yield from source.problems
            yield from _kind(source, given, self.args or ())
        yield from func_args.argument_problems(given)
        if source is not None and source.function is not None:
            yield from func_args.signature_problems(given, source.function, source.where)
        yield from env_and_args.arg_problems(self.args or ())
        yield from _whole("num_nodes", self.num_nodes)
        yield from _whole("num_proc_per_node", self.num_proc_per_node)
        yield from resource_problems(self.resources_per_node or {})
        yield from env_and_args.env_problems(self.env or {})
        yield from file_mounts.file_problems(self.files or {})
        if self.image is not None and (not isinstance(self.image, str) or not self.image):
            yield Problem("image", "must be an image's name", got=self.image)
        if isinstance(self.packages, list | tuple):
            yield from packages.requirement_problems(
                packages.RequirementLine(each, f"packages[{index}]")
                for index, each in enumerate(self.packages)
            )
        has_packages, indexes = bool(self.packages), self.pip_index_urls or ()
        yield from packages.index_problems(indexes, is_needed=has_packages)
        yield from packages.wheel_house_problems(
            self.wheel_house, is_needed=has_packages, has_indexes=bool(indexes)
        )
        if self.packages_at is not None:
            yield from volume_address.address_problems("packages_at", self.packages_at)
        if not isinstance(self.image_has_packages, bool | None):
            what = "must be true or false"
            yield Problem("image_has_packages", what, got=self.image_has_packages)

    def _package_lines(self) -> tuple[str, ...]:
        """Options of an installer, and requirements.

        Raises:
            InvalidInput: The lock file is not there, or has problems.
        """
        origin = packages.origin_lines(self.pip_index_urls or (), self.wheel_house)
        if not isinstance(self.packages, str | os.PathLike):
            texts = (each for each in self.packages or () if isinstance(each, str))
            lines = packages.requirement_lines(tuple(texts))
            return (*origin, *lines) if lines else ()
        locked = lock_file.read_lock(self.packages)
        if locked.origin and self.pip_index_urls:
            what, fix = "is given, and the lock file says it too", "keep one of them"
            raise InvalidInput([Problem("pip_index_urls", what, fix=fix)])
        return (*(origin or locked.origin), packages.NO_DEPENDENCIES, *locked.requirements)

    def _trainer(self) -> dict[str, Any]:
        resources = self.resources_per_node
        made = {
            "image": self.image,
            "args": [env_and_args.literal_text(each) for each in self.args or ()] or None,
            "env": env_and_args.env_entries(self.env or {}) or None,
            "numNodes": self.num_nodes,
            "numProcPerNode": self.num_proc_per_node,
            "resourcesPerNode": resource_requirements(resources) if resources else None,
        }
        return {key: value for key, value in made.items() if value is not None}

    def _secret_data(self, secret_args: Mapping[str, Secret]) -> dict[str, Any]:
        data: dict[str, Any] = {
            env_and_args.secret_key(name): value.value
            for name, value in (self.env or {}).items()
            if isinstance(value, Secret)
        }
        data |= file_mounts.file_secrets(self.files or {})
        if secret_args:
            values = {name: secret.value for name, secret in sorted(secret_args.items())}
            later = any(secret.later for secret in secret_args.values())
            data[names.SECRET_ARGS_KEY] = values if later else json.dumps(values)
        return data


def _source(train: Train) -> CodeSource:
    if isinstance(train, str | os.PathLike):
        return files.read_path(os.fspath(train))
    return function.read_function(train)


def _split(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Secret]]:
    """Plain arguments, and secret ones."""
    secret = {name: value for name, value in given.items() if isinstance(value, Secret)}
    return {name: value for name, value in given.items() if name not in secret}, secret


def _kind(source: CodeSource, given: Mapping[str, Any], args: Sequence[str]) -> Iterator[Problem]:
    """Arguments of the other kind of code."""
    script = source.launch.get("script")
    if script and given:
        fix = f'give args, or a function: "{script}:FUNCTION"'
        yield Problem("func_args", "a script takes no func_args", fix=fix, where=source.where)
    if args and not script:
        what = f"function {source.launch['function']} takes no command line"
        yield Problem("args", what, fix="give func_args", where=source.where)


def _whole(path: str, value: Any) -> Iterator[Problem]:
    if value is not None and (type(value) is not int or value < 1):
        yield Problem(path, "must be a whole number from 1", got=value)


def _files(source: CodeSource, plain: Mapping[str, Any]) -> dict[str, str]:
    """The whole content of the code mount."""
    return {
        **_own_files(),
        "launch.json": json.dumps(source.launch),
        "args.json": json.dumps(dict(sorted(plain.items()))),
        **{f"source/{path}": text for path, text in source.files.items()},
    }


SHIPPED: Final = ("report.py", "storage.py")
"""Files of the package, and of its room `in_pod`, that travel for images which lack it."""
INSTALLING: Final = ("package_cache.py", "package_installation.py")
"""Files of `in_pod` with which pods install packages."""
_PACKAGE: Final = Path(in_pod.__file__).parents[1]


@functools.cache
def _own_files() -> dict[str, str]:
    """What we add to the user's code: the launcher, and `report` and `storage` for images that lack them."""
    return {
        "main.py": _own_file("in_pod/main.py"),
        "lib/trainer_infra/__init__.py": "",
        "lib/trainer_infra/in_pod/__init__.py": "",
        **_library(*SHIPPED, *(f"in_pod/{file}" for file in SHIPPED)),
    }


@functools.cache
def _installing_files() -> dict[str, str]:
    """What we add to code that has packages."""
    library = _library(*(f"in_pod/{file}" for file in INSTALLING))
    return {package_mounts.INSTALLING: _own_file("in_pod/packages.py"), **library}


def _library(*paths: str) -> dict[str, str]:
    return {f"lib/trainer_infra/{path}": _own_file(path) for path in paths}


def _own_file(path: str) -> str:
    return (_PACKAGE / path).read_text(encoding="utf-8")


def resource_requirements(resources: Mapping[str, Any]) -> dict[str, Any]:
    """ResourceRequirements with equal requests and limits; one that has them already as it is."""
    if VERBATIM & resources.keys():
        return dict(resources)
    # The published schema knows whole numbers and text, no fractions.
    amounts = {
        SHORT.get(name, name): str(amount) if isinstance(amount, float) else amount
        for name, amount in resources.items()
    }
    return {"requests": amounts, "limits": dict(amounts)}


def resource_problems(resources: Mapping[str, Any]) -> Iterator[Problem]:
    """Amounts that are none, and two notations at once."""
    if VERBATIM & resources.keys():
        for name in resources.keys() - VERBATIM:
            what = "stands beside requests or limits"
            fix = "move it into both, or give amounts only"
            yield Problem(f"resources_per_node.{name}", what, fix=fix)
        return
    for name, amount in resources.items():
        path = f"resources_per_node.{name}"
        if SHORT.get(name, name) != name and SHORT[name] in resources:
            yield Problem(path, f"is the same as {SHORT[name]}", fix="keep one of them")
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            fix = 'give a number, or a text such as "4Gi"'
            yield Problem(path, "is not an amount", got=amount, fix=fix)
        elif isinstance(amount, float) and not math.isfinite(amount):
            yield Problem(path, "is not an amount", got=amount, fix="give a finite number")
        elif isinstance(amount, str) and not _is_quantity(amount):
            meant = quantity.nearest_quantity(amount)
            fix = f"did you mean {meant}?" if meant else ""
            yield Problem(path, f"must be {quantity.WORDS}", got=amount, fix=fix)


def _is_quantity(amount: str) -> bool:
    try:
        quantity.parse_quantity(amount)
    except ValueError:
        return False
    return True
