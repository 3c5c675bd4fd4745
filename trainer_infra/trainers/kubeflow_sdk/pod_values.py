"""What the SDK's trainers say of pods, as ours have it: what counts as given, amounts, and texts. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.pods.pod_arguments import PodArguments

LOWER: Final = frozenset({"cpu", "memory", "gpu", "storage", "ephemeral-storage"})
"""Resources that the SDK knows in any case."""
GPU: Final = frozenset({"gpu", "nvidia.com/gpu"})
MIG: Final = "mig-"
NVIDIA_MIG: Final = "nvidia.com/mig-"
_AMOUNTS: Final = "resources_per_node"


def given_values(trainer: object, names: Iterable[str]) -> dict[str, Any]:
    """Fields of a trainer, of which the SDK takes what is empty or 0 for not given."""
    values = {name: as_python(getattr(trainer, name)) for name in names}
    given: dict[str, Any] = {name: value or None for name, value in values.items()}
    amounts = given.get(_AMOUNTS)
    if isinstance(amounts, Mapping):
        given[_AMOUNTS] = {_resource(name): each for name, each in amounts.items()}
    return given


def _resource(name: Any) -> Any:
    """A resource as Kubernetes names it, or as ours abbreviate it."""
    if not isinstance(name, str):
        return name
    lower = name.lower()
    if lower.startswith(MIG):
        return f"{NVIDIA_MIG}{lower.removeprefix(MIG)}"
    return lower if lower in LOWER else name


def mig_problems(resources: Any) -> Iterator[Problem]:
    """Parts of GPUs beside others, or beside whole ones: the SDK refuses both."""
    names = [each for each in resources or () if isinstance(each, str)]
    parts = [each for each in names if each.startswith(NVIDIA_MIG)]
    fix = "keep one of them"
    if len(parts) > 1:
        yield Problem(_AMOUNTS, "names several kinds of parts of GPUs", got=parts, fix=fix)
    elif parts and not GPU.isdisjoint(names):
        yield Problem(_AMOUNTS, "names whole GPUs and parts of them", got=names, fix=fix)


def spec_trainer(pods: PodArguments, args: Sequence[str]) -> JSONDict:
    """spec.trainer with the texts of variables as the SDK writes them: Kubernetes replaces `$(NAME)` there."""
    made, env = PodArguments.spec_trainer(pods, args), as_python(pods.env)
    entries = [
        {**each, "value": env[each["name"]]} if "value" in each else each
        for each in made.get("env") or ()
    ]
    return {**made, "env": entries} if entries else made
