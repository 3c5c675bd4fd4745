"""CustomTrainer: the user's own training code as a TrainJob's trainer. The defects it avoids: SDK contract 3.2."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.input import Input
from trainer_infra.api.secret import Secret
from trainer_infra.errors import InvalidInput, Problem, independent
from trainer_infra.trainers import package_mounts
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom import files, folder, func_args, function
from trainer_infra.trainers.custom.source import CodeSource
from trainer_infra.trainers.custom.stored_code import BYTES, CodeStore, is_text
from trainer_infra.trainers.pods import env_and_args, pod_arguments, pod_library
from trainer_infra.trainers.trainer import PackedProgram

Train = Callable[..., object] | str | os.PathLike[str]

KUBEFLOW: Final = {"func": "train", "packages_to_install": "packages"}
"""Names that the kubeflow SDK has for fields of ours."""
_NAMED: Final = tuple(
    re.compile(rf"trainer_infra\.{each}\b|from\s+trainer_infra\s+import\b[^#\n]*\b{each}\b")
    for each in ("callbacks", "checkpoint")
)
"""Modules of ours that code may name, which then travel with it."""


@dataclass(frozen=True, slots=True)
class CustomTrainer(pod_arguments.PythonPodArguments):
    """Trains with the user's own code: a function, a file or a folder."""

    train: Train | Input[str] | None = None
    """A function whose imports are inside it, or a path: `train.py`, `folder:main.py`,
    `train.py:function`, `folder:package.module:function`. Paths are relative to the working
    directory, or to the root of a repository: `git+https://HOST/ORG/REPO.git@REVISION#train.py`. The
    job's working directory is not the code's folder, which is read-only."""
    _: KW_ONLY
    func_args: Input[Mapping[str, Any] | None] = None
    """Arguments of the function by name: JSON values, whose types are kept, numbers and arrays of
    numpy, and Secrets of them."""
    args: Input[Sequence[Input[str]] | None] = None
    """Arguments of a script, handed over exactly."""
    code_at: Input[str | None] = None
    """Where a folder is kept that a ConfigMap cannot hold, large or with binary files: `s3://BUCKET/PREFIX`,
    `gs://`, `az://` or `file:///PATH`; what the stack configuration `trainer:code` says when not given."""
    code_secret: Input[str | None] = None
    """Name of a Secret with the variables by which pods reach it (`trainer:codeSecret`); their service
    account may without one."""
    code_image: Input[str | None] = None
    """Image that fetches it in pods (`trainer:codeImage`); our image of the initializers when not given."""
    func: Train | Input[str] | None = None
    """What the kubeflow SDK calls `train`."""
    packages_to_install: Input[Sequence[Input[str]] | str | os.PathLike[str] | None] = None
    """What the kubeflow SDK calls `packages`."""

    def pack(self) -> PackedProgram:
        """The code, the trainer and the secrets, as `PackableTrainer.pack`."""
        return self.packed_with(())

    def packed_with(self, provided: Collection[str]) -> PackedProgram:
        """The same of a function to which a framework gives the arguments of these names, where it takes them."""
        theirs = {name: own for name, own in KUBEFLOW.items() if getattr(self, name) is not None}
        twice = [
            Problem(name, f"is the same as {own}, and both are given", fix="keep one of them")
            for name, own in theirs.items()
            if getattr(self, own) is not None
        ]
        if twice:
            raise InvalidInput(twice)
        moved: dict[str, Any] = {own: getattr(self, name) for name, own in theirs.items()}
        moved |= dict.fromkeys(theirs)
        try:
            return replace(self, **moved)._packed(provided)  # noqa: SLF001  of this class
        except InvalidInput as error:
            used = {own: name for name, own in theirs.items()}
            raise InvalidInput(_called(each, used) for each in error.problems) from None

    def _packed(self, provided: Collection[str]) -> PackedProgram:
        """The same, of one in which nothing stands under a name of the kubeflow SDK."""
        if problems := [*self._own_shapes(), *self.shape_problems()]:
            raise InvalidInput(problems)
        try:
            stores = self.code_at is not None
            source: CodeSource | None = _source(as_python(self.train), stores=stores)
        except InvalidInput as error:
            source = None
            problems += independent(error.problems)
        store = self._code_store()
        problems += independent(self._code_problems(source, provided))
        problems += independent(store.problems() if store else ())
        problems += self.pod_problems()
        if problems or source is None:
            raise InvalidInput(problems)
        given = as_python(self.func_args) or {}
        secret = {name: each for name, each in given.items() if isinstance(each, Secret)}
        plain = {name: each for name, each in given.items() if name not in secret}
        launching = _launching_files(source, plain)
        mine = {f"source/{path}": text for path, text in source.files.items()}
        code = self.code({**launching, **mine}, secret_args=bool(secret))
        if store and not _is_mountable(code):
            rest = {path: text for path, text in code.files.items() if path not in mine}
            code = replace(code, files=rest, stored=store.kept(source.files))
        code = replace(code, origin=source.origin)
        if over := tuple(folder.too_large(_sizes(code), source.where)):
            raise InvalidInput(over)
        args = as_python(self.args) or ()
        return PackedProgram(code, self.spec_trainer(args), self.secret_data() | _secret(secret))

    def _code_store(self) -> CodeStore | None:
        if self.code_at is None:
            return None
        given = (as_python(each) or "" for each in (self.code_secret, self.code_image))
        return CodeStore(as_python(self.code_at), *given)

    def _own_shapes(self) -> Iterator[Problem]:
        yield from pod_arguments.mapping_problems("func_args", as_python(self.func_args))
        yield from pod_arguments.list_problems("args", as_python(self.args))

    def _code_problems(
        self, source: CodeSource | None, provided: Collection[str]
    ) -> Iterator[Problem]:
        given, args = as_python(self.func_args) or {}, as_python(self.args) or ()
        if source is not None:
            yield from source.problems
            yield from _kind(source, given, args)
        yield from func_args.argument_problems(given)
        if source is not None and source.function is not None:
            yield from func_args.signature_problems(given, source.function, source.where, provided)
        yield from env_and_args.text_list_problems("args", args)


def _called(problem: Problem, used: Mapping[str, str]) -> Problem:
    """The problem with the field's name that the user wrote."""
    field, bracket, rest = problem.path.partition("[")
    return replace(problem, path=f"{used.get(field, field)}{bracket}{rest}")


def _source(train: Train, *, stores: bool) -> CodeSource:
    if isinstance(train, str | os.PathLike):
        path = os.fspath(train)
        if not path.startswith("git+"):
            return files.read_path(path, stores=stores)
        from trainer_infra.trainers.custom import git_reference  # noqa: PLC0415  it runs git, and few need it

        return git_reference.read_reference(path, stores=stores)
    return function.read_function(train)


def _secret(arguments: Mapping[str, Secret]) -> dict[str, Any]:
    """What the job's own Secret has of secret arguments: one file."""
    if not arguments:
        return {}
    values = {name: secret.value for name, secret in sorted(arguments.items())}
    later = any(secret.later for secret in arguments.values())
    return {names.SECRET_ARGS_KEY: values if later else json.dumps(values)}


def _kind(source: CodeSource, given: Mapping[str, Any], args: Sequence[str]) -> Iterator[Problem]:
    """Arguments of the other kind of code."""
    script = source.launch.get("script") or source.launch.get("main_module")
    if script and given:
        fix = f'give args, or a function: "{script}:FUNCTION"'
        yield Problem("func_args", "a script takes no func_args", fix=fix, where=source.where)
    if args and not script:
        what = f"function {source.launch['function']} takes no command line"
        yield Problem("args", what, fix="give func_args", where=source.where)


def _sizes(code: Code) -> dict[str, int]:
    """Bytes of each file of its mount."""
    mounted = package_mounts.mounted_files(code)
    return {path: len(text.encode(*BYTES)) for path, text in mounted.items()}


def _is_mountable(code: Code) -> bool:
    return all(map(is_text, code.files.values())) and not any(folder.too_large(_sizes(code), ""))


def _launching_files(source: CodeSource, plain: Mapping[str, Any]) -> dict[str, str]:
    files, texts = dict(pod_library.launcher_files()), source.files.values()
    calls, saves = (any(map(each.search, texts)) for each in _NAMED)
    if calls:
        files |= pod_library.callback_files()
    # Callbacks that save are made of the checkpoints.
    if saves or (calls and any("CheckpointCallback" in each for each in texts)):
        files |= pod_library.checkpoint_files()
    launch, args = json.dumps(source.launch), json.dumps(dict(sorted(plain.items())))
    return {**files, "launch.json": launch, "args.json": args}
