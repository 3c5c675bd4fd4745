"""The one door of secrets: whatever is secret outside of it is refused by its path.

The door is `env`, `files` and `func_args` of a trainer and `env` of an initializer: those values go
to `secretData`, the only input that stays encrypted. Any other input would be copied into what is
rendered, and so stand in plain text in previews, states and objects (design rule 1). Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
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


def misplaced_secret(path: str) -> Problem:
    """What to say of a secret at a path that is not the door."""
    what = "cannot hold a secret: everybody who may read the object would see it"
    return Problem(path, what, fix=FIX)


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
            yield from misplaced_secrets(without_secrets(value, name, {}), f"spec.{name}")
        else:
            yield from misplaced_secrets(value, _SPEC.get(name, name))


_SPEC: Final = {
    "runtime_patches": "spec.runtimePatches",
    "suspend": "spec.suspend",
    "active_deadline_seconds": "spec.activeDeadlineSeconds",
}
"""Arguments that have another name in the object."""


def without_secrets(value: Any, path: str, secrets: dict[str, Any]) -> Any:
    """A copy in which each secret variable refers to the job's own Secret, and its value is in `secrets`."""
    if isinstance(value, list | tuple):
        return [without_secrets(each, path, secrets) for each in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(value.get("value"), Secret) and "name" in value:
        key = f"{path}.{value['name']}"
        secrets[key] = value["value"].value
        rest = {field: each for field, each in value.items() if field != "value"}
        return {**rest, "valueFrom": {"secretKeyRef": {"name": names.OWN_SECRET, "key": key}}}
    return {key: without_secrets(each, f"{path}.{key}", secrets) for key, each in value.items()}
