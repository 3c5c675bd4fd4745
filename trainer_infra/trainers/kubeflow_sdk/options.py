"""The SDK's options -> arguments of a TrainJob that say the same.

An option is called with a TrainJob that it changes, and the SDK reads back what `ARGUMENTS` and
`WORDS` name (SDK contract 1).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.in_pod import own_place
from trainer_infra.json_values import JSONDict, json_leaves

ARGUMENTS: Final = {
    ("metadata", "name"): "name",
    ("metadata", "labels"): "labels",
    ("metadata", "annotations"): "annotations",
    ("spec", "runtimePatches"): "runtime_patches",
    ("spec", "activeDeadlineSeconds"): "active_deadline_seconds",
}
"""Fields of a TrainJob that an option may write -> arguments of ours."""
WORDS: Final = (("spec", "trainer", "command"), ("spec", "trainer", "args"))
"""The same of the trainer."""


def arguments_of_options(options: Any, trainer: Any) -> dict[str, Any]:
    """Arguments of a TrainJob, and `command` and `args` of its trainer, that options give; one may judge the trainer.

    Raises:
        InvalidInput: holds every problem.
    """
    if not isinstance(options, list | tuple):
        what, fix = "must be a list of options of the kubeflow SDK", 'as in [Labels({"team": "a"})]'
        raise InvalidInput([Problem("options", what, got=options, fix=fix)])
    if problems := [each for index, one in enumerate(options) for each in _no_option(index, one)]:
        raise InvalidInput(problems)
    job = _called(options, trainer)
    found: dict[str, Any] = {}
    for keys, argument in (*ARGUMENTS.items(), *((keys, keys[-1]) for keys in WORDS)):
        value: Any = job
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[argument] = value
    return found


def _no_option(index: int, given: Any) -> Iterator[Problem]:
    path = f"options[{index}]"
    if isinstance(given, type):
        fix = f"write {given.__name__}(...)"
        yield Problem(path, f"is the class {given.__name__}, and no option by itself", fix=fix)
    elif not callable(given):
        what = "is not an option of the kubeflow SDK, such as Labels or RuntimePatch"
        yield Problem(path, what, got=given)


def _called(options: list[Any] | tuple[Any, ...], trainer: Any) -> JSONDict:
    """What the options make of an empty TrainJob, one after the other."""
    try:
        from kubeflow.trainer.backends.kubernetes.backend import (  # noqa: PLC0415  slow, and often loaded
            KubernetesBackend,
        )
    except ModuleNotFoundError:
        what = "are called by the kubeflow SDK, which is not installed"
        fix = f"run `{own_place.install_command('sdk')}`"
        raise InvalidInput([Problem("options", what, fix=fix)]) from None
    # Options ask which backend it is; this one talks to no cluster.
    backend = KubernetesBackend.__new__(KubernetesBackend)
    job: JSONDict = {}
    problems = []
    for index, option in enumerate(options):
        path = f"options[{index}]"
        try:
            option(job, trainer, backend)
        except Exception as error:  # noqa: BLE001  options are users' code too
            what = f"cannot be used here: {str(error) or type(error).__name__}"
            problems.append(Problem(path, what))
        else:
            problems += [] if problems else _problems(job, path)
    if problems:
        raise InvalidInput(problems)
    return job


def _problems(job: JSONDict, path: str) -> Iterator[Problem]:
    """What an option has written that the SDK would lose, or an API server refuse."""
    known = (*ARGUMENTS, *WORDS)
    for keys, _ in json_leaves(job):
        if not any(keys[: len(each)] == each for each in known):
            what = f"writes {'.'.join(map(str, keys))}, which the SDK does not send"
            yield Problem(path, what, fix="give it as an argument of the TrainJob, if there is one")
    patches = (job.get("spec") or {}).get("runtimePatches") or ()
    managers = [each.get("manager") for each in patches if isinstance(each, Mapping)]
    if len(set(managers)) < len(managers):
        last = managers[-1]
        what = f"is a second runtime patch of {last}, and a TrainJob has one of each manager"
        yield Problem(path, what, fix="write both into one RuntimePatch")
