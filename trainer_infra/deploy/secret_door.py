"""The one door of secrets: whatever is secret outside of it is refused by its path.

The door is `env`, `files` and `func_args` of a trainer and `env` of an initializer:
`train_job_arguments` moves those values to `secretData`, the only input that stays encrypted. Any
other input would be copied into what is rendered, and so stand in plain text in previews, states
and objects (design rule 1). Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.secret import Secret
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.trainers.trainer import DOORS, PACKABLE

FIX: Final = (
    "pass a secret in env of the trainer or an initializer, as {'name': ..., 'value': Secret(...)}, "
    "or in env, files or func_args of a CustomTrainer; a value that need not be hidden goes through "
    "pulumi.Output.unsecret"
)
"""What to do about a secret in a wrong place."""


def misplaced_secret(path: str, where: str = "") -> Problem:
    """What to say of a secret at a path that is not the door."""
    what = "cannot hold a secret: everybody who may read the object would see it"
    return Problem(path, what, fix=FIX, where=where)


def misplaced_secrets(value: Any, path: str) -> Iterator[Problem]:
    """A problem for each secret in an argument that has no door."""
    if isinstance(value, Secret):
        yield misplaced_secret(path)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(key, Secret):
                yield misplaced_secret(path)
            yield from misplaced_secrets(each, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, list | tuple | set | frozenset):
        for index, each in enumerate(value):
            yield from misplaced_secrets(each, f"{path}[{index}]")


def misplaced_arguments(arguments: JSONObject) -> Iterator[Problem]:
    """The same for the arguments of a TrainJob, as `Arguments.as_mapping` has them."""
    for name, value in arguments.items():
        if name == "trainer" and isinstance(value, Mapping) and PACKABLE in value:
            # A trainer judges its own doors, values of which may be secret.
            for field, each in value[PACKABLE].items():
                if field not in DOORS:
                    yield from misplaced_secrets(each, f"trainer.{field}")
        elif name in {"trainer", "initializer"}:
            yield from _outside_env(value, f"spec.{name}")
        else:
            yield from misplaced_secrets(value, _SPEC.get(name, name))


_SPEC: Final = {
    "runtime_patches": "spec.runtimePatches",
    "suspend": "spec.suspend",
    "active_deadline_seconds": "spec.activeDeadlineSeconds",
}
"""Arguments that have another name in the object."""


def _outside_env(value: Any, path: str) -> Iterator[Problem]:
    """Every secret but the value of an env variable."""
    if isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _outside_env(each, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        is_variable = "name" in value and isinstance(value.get("value"), Secret)
        for key, each in value.items():
            if not (is_variable and key == "value"):
                yield from _outside_env(each, f"{path}.{key}")
    else:
        yield from misplaced_secrets(value, path)
