"""Which target a stack's resources run on, and what is wrong with that choice.

Stack configuration `trainer:target` and `trainer:engine` are inputs of every resource;
`trainer:kubeconfig` and `trainer:context` are not, so that no credential is in a state: the
serving process gets them by `configure` (DESIGN.md, "Targets and engines").
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from pulumi.dynamic import ConfigureRequest

from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.lifecycle.target import Target

JSON = Mapping[str, Any]

LOCAL: Final = "local"
KUBERNETES: Final = "kubernetes"
PROVIDER: Final = "provider"
TARGETS: Final = (LOCAL, KUBERNETES)
ENGINES: Final = (PROVIDER,)

_CONFIGURED: Final[dict[str, str | None]] = {"kubeconfig": None, "context": None}
"""Of this process, which serves one stack."""

_SAID: Final[set[str]] = set()
"""What this process said of its target."""


def configure(request: ConfigureRequest) -> None:
    """Take the stack's connection from what the engine tells the serving process."""
    for key in _CONFIGURED:
        _CONFIGURED[key] = request.config.get(f"trainer:{key}")


def connection() -> tuple[str | None, str | None]:
    """Kubeconfig and context of the stack; None where it says nothing."""
    return _CONFIGURED["kubeconfig"], _CONFIGURED["context"]


def problems(inputs: JSON) -> Iterator[Problem]:
    """What is missing or wrong in target and engine."""
    target, engine = inputs.get("target"), inputs.get("engine")
    if target not in TARGETS:
        yield _choice("target", target, TARGETS)
    elif target == KUBERNETES and engine not in ENGINES:
        yield _choice("engine", engine, ENGINES)


def _choice(key: str, got: Any, choices: tuple[str, ...]) -> Problem:
    commands = " or ".join(f"`pulumi config set trainer:{key} {each}`" for each in choices)
    what = "is not set" if got is None else f"is no {key} of this version"
    return Problem(key, what, got, f"run {commands}", f"stack configuration trainer:{key}")


def of(inputs: JSON) -> Target:
    """The target of a resource; nothing is asked of it yet."""
    if inputs["target"] == LOCAL:
        from trainer_infra.local.target import ThisMachine  # noqa: PLC0415  only one is loaded

        return ThisMachine()
    return _cluster(*connection())


def news_of(inputs: JSON, objects: tuple[JSON, ...]) -> tuple[str, ...]:
    """What the target has to say before the objects are submitted, that this process did not say.

    What is wrong with a cluster is wrong for all its runs.
    """
    said = tuple(each for each in of(inputs).warnings(objects) if each not in _SAID)
    _SAID.update(said)
    return said


def at_its_place(state: JSON, what: str) -> Target:
    """The target, when it is the very machine or cluster that a resource is on.

    Args:
        state: outputs of the resource.
        what: the resource, as the error names it: `TrainJob digits`.

    Raises:
        NotAvailable: It is another one.
    """
    target = of(state)
    if state["host"] != (here := target.host()):
        raise NotAvailable(
            f"{what} runs on {state['host']}, not on {here}; run "
            "`pulumi up` or `pulumi destroy` there, or forget it with `pulumi state delete`"
        )
    return target


@lru_cache(maxsize=1)
def _cluster(kubeconfig: str | None, context: str | None) -> Target:
    from trainer_infra.cluster.runs import Cluster  # noqa: PLC0415  only one target is loaded

    return Cluster(kubeconfig, context)
