"""The SDK's Runtime, and which runtimes its trainers can train on: SDK contract 2.3 and 3.3. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import catalog, names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.kubeflow_sdk import builtin_trainer

TYPE: Final = "Runtime"
TORCHTUNE: Final = "torchtune"
"""The framework whose runtimes a BuiltinTrainer trains on, and no other trainer of the SDK."""


def runtime(given: Any, trainer_type: str) -> str:
    """The name of the runtime that the SDK's is of; `trainer_type` is empty for a trainer that is not the SDK's.

    Raises:
        InvalidInput: It is one of a namespace, which a name alone does not mean, or of other trainers.
    """
    kind = given.kind.value
    problems = []
    if kind != names.CLUSTER_TRAINING_RUNTIME:
        what = f"is the {kind} {given.name}, and a name means a {names.CLUSTER_TRAINING_RUNTIME}"
        fix = "give the runtime itself, as a resource, typed or in wire form"
        problems.append(Problem("runtime", what, fix=fix))
    if trainer_type:
        problems += _unfit(trainer_type, given.trainer.framework, given.name)
    if problems:
        raise InvalidInput(problems)
    return str(given.name)


def default_name() -> str:
    """The runtime that the SDK takes where none is given."""
    from kubeflow.trainer.constants import constants  # noqa: PLC0415  loaded by who made the trainer

    return str(constants.DEFAULT_TRAINING_RUNTIME)


def runtime_problems(trainer_type: str, given: Any) -> Iterator[Problem]:
    """What is wrong with a runtime, by name, typed or in wire form, for a trainer of the SDK.

    Nothing of one that only a cluster has.
    """
    found = catalog.find(given) if isinstance(given, str) else given
    if found is None:
        return
    wire = found if isinstance(found, Mapping) else found.to_wire()
    metadata = wire.get("metadata") or {}
    framework = (metadata.get("labels") or {}).get(names.FRAMEWORK_LABEL)
    yield from _unfit(trainer_type, framework, metadata.get("name"))


def _unfit(trainer_type: str, framework: Any, name: Any) -> Iterator[Problem]:
    is_builtin = trainer_type == builtin_trainer.TYPE
    if is_builtin == (framework == TORCHTUNE):
        return
    what = f"is of {framework or 'no framework'}, so no {trainer_type} can train on it"
    others = f"one of another framework, or give a {builtin_trainer.TYPE}"
    fix = f"choose {f'one of {TORCHTUNE}' if is_builtin else others}"
    yield Problem("runtime", what, name, fix)
