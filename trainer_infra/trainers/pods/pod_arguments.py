"""The arguments of every trainer that are about its pods, and what spec.trainer and the code have of them."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any, ClassVar, Final, Self

from typing_extensions import override

from trainer_infra.api import quantity
from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.api.secret import Secret
from trainer_infra.errors import InvalidInput, Problem, independent
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers import argument_names, volume_address
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.pods import env_and_args, file_mounts, lock_file, packages, pod_library

SHORT: Final = {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}

VERBATIM: Final = frozenset({"requests", "limits", "claims"})


class _ConstructorSignature:
    """What editors and `inspect` show of a class whose `__new__` takes everything."""

    def __get__(self, _instance: object, owner: type) -> Signature:
        own = signature(owner.__init__)  # type: ignore[misc]  # of the class itself
        return own.replace(parameters=[*own.parameters.values()][1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class PodArguments:
    """Counts, resources, environment and files of the pods."""

    __signature__: ClassVar[_ConstructorSignature] = _ConstructorSignature()
    starts_python: ClassVar[bool] = False
    """Whether the runtime's launcher starts Python code that travels with the job."""
    num_nodes: Input[int | tuple[Input[int], Input[int]] | None] = None
    """Pods; the runtime's number when not given. Of Python code that torchrun starts also the least and the most of them,
    `(2, 4)`: the training goes on with those that there are."""
    num_proc_per_node: Input[int | None] = None
    """Processes in each pod; the runtime's rule when not given."""
    resources_per_node: Input[Mapping[str, Any] | None] = None
    """Amounts of each pod, for example `{"cpu": 1, "gpu": 2, "memory": "4Gi"}`, or
    ResourceRequirements with `requests` and `limits`."""
    env: Input[Mapping[str, Input[str] | Secret | Mapping[str, Any]] | None] = None
    """Env variables: text, handed over exactly, a Secret, or `{"valueFrom": ...}`."""
    image: Input[str | None] = None
    """Container image; the runtime's when not given."""

    def __new__(cls, *_given: Any, **named: Any) -> Self:
        """Refuse an argument that there is not, with what is meant by it."""
        if unknown := [each for each in named if each not in cls.__dataclass_fields__]:
            taken = signature(cls).parameters
            open_to_all = any(each.kind is each.VAR_KEYWORD for each in taken.values())
            if unknown[0] not in taken and not open_to_all:
                what = argument_names.advice(unknown[0], taken)
                raise TypeError(f"{cls.__name__} has no argument {unknown[0]!r}; {what}")
        # A class with slots is another one than the one that this is written in: no super().
        return object.__new__(cls)

    def shape_problems(self) -> Iterator[Problem]:
        """Fields of the pods that are of another kind than they can be; the rest is judged without these."""
        for path in ("resources_per_node", "env"):
            yield from mapping_problems(path, as_python(getattr(self, path)))

    def pod_problems(self) -> Iterator[Problem]:
        """What is wrong with them, in the order of the fields."""
        nodes = as_python(self.num_nodes)
        if isinstance(nodes, list | tuple):
            yield from independent(range_problems(nodes, starts=self.starts_python))
        else:
            yield from whole_number("num_nodes", nodes)
        yield from whole_number("num_proc_per_node", as_python(self.num_proc_per_node))
        resources, env = as_python(self.resources_per_node) or {}, as_python(self.env) or {}
        yield from independent(resource_problems(resources))
        yield from independent(env_and_args.env_problems(env))
        if self.image is not None and (not isinstance(self.image, str) or not self.image):
            yield Problem("image", "must be an image's name", got=self.image, independent=True)

    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
        """`spec.trainer` in wire form, with the arguments of its program."""
        resources, env = as_python(self.resources_per_node), as_python(self.env)
        nodes = as_python(self.num_nodes)
        made = {
            "image": self.image,
            "args": [env_and_args.literal_text(each) for each in args] or None,
            "env": env_and_args.env_entries(env or {}) or None,
            "numNodes": nodes[1] if isinstance(nodes, list | tuple) else nodes,
            "numProcPerNode": as_python(self.num_proc_per_node),
            "resourcesPerNode": resource_requirements(resources) if resources else None,
        }
        return {key: value for key, value in made.items() if value is not None}

    def secret_data(self) -> dict[str, Any]:
        """Values of secret env variables, by their keys in the job's own Secret."""
        return {
            env_and_args.secret_key(name): value.value
            for name, value in (as_python(self.env) or {}).items()
            if isinstance(value, Secret)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPodArguments(PodArguments):
    """The same of pods that run code which travels with the job, and whose Python gets packages."""

    starts_python: ClassVar[bool] = True
    files: Input[Mapping[str, Secret | Input[str] | Mapping[str, Any]] | None] = None
    """Files of a pod, by absolute path: a Secret with their text, `{"secretKeyRef": ...}` or
    `{"configMapKeyRef": ...}` as an env variable has them."""
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
    image_has_packages: Input[bool | Sequence[str] | None] = None
    """True where the image has them already: then only the local target installs them. Names, as in `["torch"]`,
    where it has these, perhaps in another version: pods install the rest over it."""

    @override
    def shape_problems(self) -> Iterator[Problem]:
        yield from PodArguments.shape_problems(self)
        yield from mapping_problems("files", as_python(self.files))
        for path in ("packages", "pip_index_urls"):
            value = as_python(getattr(self, path))
            if path != "packages" or not isinstance(value, str | os.PathLike):
                yield from list_problems(path, value)

    @override
    def pod_problems(self) -> Iterator[Problem]:
        yield from PodArguments.pod_problems(self)
        yield from independent(file_mounts.file_problems(as_python(self.files) or {}))
        given, indexes = as_python(self.packages), as_python(self.pip_index_urls) or ()
        if isinstance(given, list | tuple):
            lines = (
                packages.RequirementLine(each, f"packages[{index}]")
                for index, each in enumerate(given)
            )
            yield from independent(packages.requirement_problems(lines))
        yield from packages.index_problems(indexes, is_needed=bool(given))
        yield from packages.wheel_house_problems(
            self.wheel_house, is_needed=bool(given), has_indexes=bool(indexes)
        )
        if self.packages_at is not None:
            address = volume_address.address_problems("packages_at", self.packages_at)
            yield from independent(address)
        try:
            installed = self._package_lines()
        except InvalidInput as error:
            yield from error.problems
        else:
            yield from packages.image_problems(as_python(self.image_has_packages), installed)

    def code(
        self,
        files: Mapping[str, str],
        *,
        secret_args: bool = False,
        launcher: tuple[str, ...] = (),
        policies: tuple[str, ...] = (),
    ) -> Code:
        """The code of a job of these pods, with files besides the installation of the packages."""
        lines = self._package_lines()
        in_image, nodes = self._lines_in_image(lines), as_python(self.num_nodes)
        installing = pod_library.installing_files() if lines and in_image is not True else {}
        return Code(
            {**files, **installing},
            lines,
            secret_args,
            in_image,
            str(self.packages_at or "") if lines else "",
            file_mounts.file_references(as_python(self.files) or {}),
            launcher,
            policies,
            least_nodes=nodes[0] if isinstance(nodes, list | tuple) else 0,
        )

    @override
    def secret_data(self) -> dict[str, Any]:
        own = file_mounts.file_secrets(as_python(self.files) or {})
        return PodArguments.secret_data(self) | own

    def _lines_in_image(self, lines: tuple[str, ...]) -> bool | tuple[str, ...]:
        """Those of the packages that pods do not install: none, some, or all."""
        given = as_python(self.image_has_packages)
        if not lines or not isinstance(given, list | tuple):
            return bool(lines and given)
        found = packages.lines_of(given, lines)
        is_all = len(found) == sum(1 for each in lines if packages.package_name(each))
        return is_all or found or False

    def _package_lines(self) -> tuple[str, ...]:
        """Options of an installer, and requirements.

        Raises:
            InvalidInput: The lock file is not there, or has problems.
        """
        given, indexes = as_python(self.packages), as_python(self.pip_index_urls) or ()
        origin = packages.origin_lines(indexes, as_python(self.wheel_house))
        if not isinstance(given, str | os.PathLike):
            texts = (each for each in given or () if isinstance(each, str))
            lines = packages.requirement_lines(tuple(texts))
            return (*origin, *lines) if lines else ()
        locked = lock_file.read_lock(given)
        if locked.origin and indexes:
            what, fix = "is given, and the lock file says it too", "keep one of them"
            raise InvalidInput([Problem("pip_index_urls", what, fix=fix)])
        return (*(origin or locked.origin), packages.NO_DEPENDENCIES, *locked.requirements)


def mapping_problems(path: str, value: Any) -> Iterator[Problem]:
    """What should be a mapping and is none; None is none."""
    if value is None:
        return
    if isinstance(value, Secret):
        what = "is secret as a whole, and only its values can be"
        fix = 'keep the mapping outside of the Secret or the secret Output: {"NAME": Secret(...)}'
        yield Problem(path, what, fix=fix, independent=True)
    elif not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        what, got, fix = "must be a mapping with text keys", value, ""
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            # Words of a command line, one of which may be a secret.
            keys = [each.partition("=")[0] for each in value if "=" in each]
            got, fix = (None, f"write {{{keys[0]!r}: ...}}") if keys else (value, "")
        yield Problem(path, what, got=got, fix=fix, independent=True)


def list_problems(path: str, value: Any) -> Iterator[Problem]:
    """What should be a list of texts and is none; None is none."""
    if not isinstance(value, list | tuple | None):
        yield Problem(path, "must be a list of texts", got=value, independent=True)


def whole_number(path: str, value: Any) -> Iterator[Problem]:
    """A count that is none."""
    if value is None or is_stand_in(value):
        return
    if type(value) is not int or value < 1:
        yield Problem(path, "must be a whole number from 1", got=value, independent=True)


def range_problems(given: Sequence[Any], *, starts: bool) -> Iterator[Problem]:
    """What is wrong with a number of nodes from the least to the most; `starts` for code that torchrun may start."""
    path, fix = "num_nodes", "write the least and the most of them, (2, 4), or one number"
    if not starts:
        what = "is a range, which only Python code has that torchrun starts"
        yield Problem(path, what, got=given, fix="write one number, or take a CustomTrainer")
    elif len(given) != 2 or None in given:  # noqa: PLR2004  a pair
        yield Problem(path, "must be one number of nodes, or two", got=given, fix=fix)
    elif wrong := [each for at in (0, 1) for each in whole_number(f"{path}[{at}]", given[at])]:
        yield from wrong
    elif not any(map(is_stand_in, given)) and given[0] >= given[1]:
        what = "must be the least number of nodes, then a larger one"
        yield Problem(path, what, got=given, fix=fix)


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
        elif isinstance(amount, str) and not is_stand_in(amount) and not _is_quantity(amount):
            meant = quantity.nearest_quantity(amount)
            fix = f"did you mean {meant}?" if meant else ""
            yield Problem(path, f"must be {quantity.WORDS}", got=amount, fix=fix)


def _is_quantity(amount: str) -> bool:
    try:
        quantity.parse_quantity(amount)
    except ValueError:
        return False
    return True
