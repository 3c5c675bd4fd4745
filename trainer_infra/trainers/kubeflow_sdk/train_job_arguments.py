"""Arguments of a TrainJob -> the same with our types in place of the SDK's. The one place that takes these.

The deploy room asks it first, so that whatever follows, Outputs, secrets and checks, is that of our own types.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any, Final, TypeVar

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.kubeflow_sdk.sdk_type import sdk_type

T = TypeVar("T")

RELEASE: Final = "0.5"
"""Of the SDK, whose fields are known."""
TAKEN: Final = {
    "trainer": ("CustomTrainer", "CustomTrainerContainer", "BuiltinTrainer"),
    "initializer": ("Initializer",),
    "runtime": ("Runtime",),
}
"""Arguments -> types of the SDK that they take."""
_WORDS: Final = ("command", "args")


def own_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, without `options`; as they are where none is of the SDK.

    Raises:
        InvalidInput: holds every problem; none of them shows a token.
    """
    kinds = {name: sdk_type(args.get(name)) for name in TAKEN}
    own = {name: value for name, value in args.items() if name != "options"}
    if not any(kinds.values()) and args.get("options") is None:
        return own
    problems = [*_not_taken(kinds), *_of_another_release(kinds)]
    converted = {} if problems else _converted(args, kinds, problems)
    if problems:
        raise InvalidInput(problems)
    return own | converted


def _not_taken(kinds: Mapping[str, str]) -> Iterator[Problem]:
    for name, taken in TAKEN.items():
        if kinds[name] and kinds[name] not in taken:
            what = f"takes no {kinds[name]} of the kubeflow SDK"
            yield Problem(name, what, fix=f"give its {' or '.join(taken)}")


def _of_another_release(kinds: Mapping[str, str]) -> Iterator[Problem]:
    """Types that may have fields which are not known here, and which would be lost."""
    used = [name for name, kind in kinds.items() if kind]
    found = metadata.version("kubeflow") if used else ""
    if found and not found.startswith(f"{RELEASE}."):
        what = f"is a type of kubeflow {found}, and what is known here is {RELEASE}"
        yield Problem(used[0], what, fix=f'install "kubeflow=={RELEASE}.*"')


def _converted(
    args: Mapping[str, Any], kinds: Mapping[str, str], problems: list[Problem]
) -> dict[str, Any]:
    """Arguments that are ours by now; what cannot be goes to the problems."""
    # A program without the SDK's types needs none of these.
    from trainer_infra.trainers.kubeflow_sdk import initializer, options, runtime  # noqa: PLC0415

    found: dict[str, Any] = {}
    if (given := args.get("options")) is not None:
        trainer = args.get("trainer")
        made = _tried(problems, lambda: options.arguments_of_options(given, trainer))
        found = made or {}
    words: dict[str, Any] = {name: found.pop(name) for name in _WORDS if name in found}
    problems += _given_twice(args, found)
    if kinds["trainer"] or words:
        found["trainer"] = _tried(problems, lambda: _trainer(args, kinds["trainer"], words))
    if kinds["initializer"]:
        fetching = args["initializer"]
        found["initializer"] = _tried(problems, lambda: initializer.initializer(fetching))
    if kinds["runtime"]:
        theirs, kind = args["runtime"], kinds["trainer"]
        found["runtime"] = _tried(problems, lambda: runtime.runtime(theirs, kind))
    elif kinds["trainer"] and args.get("runtime") is None:
        found["runtime"] = runtime.default_name()
    return found


def _tried(problems: list[Problem], make: Callable[[], T]) -> T | None:
    """What is made; None where it cannot be, and the problems have the reasons."""
    try:
        return make()
    except InvalidInput as error:
        problems += error.problems
        return None


def _given_twice(args: Mapping[str, Any], found: dict[str, Any]) -> list[Problem]:
    """Arguments that options say too; lists of patches become one."""
    twice = {name for name in found if args.get(name) is not None}
    own = args.get("runtime_patches")
    if "runtime_patches" in twice and isinstance(own, list | tuple):
        twice.remove("runtime_patches")
        found["runtime_patches"] = [*own, *found["runtime_patches"]]
    what, fix = "is given, and an option says it too", "keep one of them"
    return [Problem(name, what, fix=fix) for name in found if name in twice]


def _trainer(args: Mapping[str, Any], kind: str, words: dict[str, Any]) -> Any:
    """Our trainer of the SDK's, or of the words that options alone say."""
    from trainer_infra.trainers.kubeflow_sdk import builtin_trainer, custom_trainer  # noqa: PLC0415  see above

    given = args.get("trainer")
    if kind == custom_trainer.CONTAINER_TYPE or given is None:
        return custom_trainer.container_trainer(given, words)
    if words:
        what = f"write the {' and '.join(words)} of a trainer that has its own"
        fix = "leave the option out, or give a CustomTrainerContainer"
        raise InvalidInput([Problem("options", what, fix=fix)])
    if kind == custom_trainer.TYPE:
        return custom_trainer.custom_trainer(given)
    return builtin_trainer.builtin_trainer(given, getattr(args.get("initializer"), "dataset", None))
