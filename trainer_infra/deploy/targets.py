"""Which target a stack's resources run on, and what is wrong with that choice.

Stack configuration `trainer:target` and `trainer:engine` are inputs of every resource;
`trainer:kubeconfig` and `trainer:context` are not, so that no credential is among them: the
serving process gets them by `configure` (design "Targets and engines").
"""

import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from pulumi.dynamic import ConfigureRequest

from trainer_infra.deploy import connection
from trainer_infra.deploy.connection import Connection
from trainer_infra.errors import Problem
from trainer_infra.local import folder
from trainer_infra.runs.target import Target

JSON = Mapping[str, Any]

LOCAL: Final = "local"
KUBERNETES: Final = "kubernetes"
PROVIDER: Final = "provider"
TARGETS: Final = (LOCAL, KUBERNETES)
ENGINES: Final = (PROVIDER,)

_CONFIGURED: Final[dict[str, str | None]] = {"kubeconfig": None, "context": None}
"""Of this process, which serves one stack."""

_CONNECTING: Final = threading.Lock()
"""Without it, threads that begin together would each connect on their own."""

_SAID: Final[set[str]] = set()
"""What this process said of its target."""


def configure(request: ConfigureRequest) -> None:
    """Take the stack's connection from what the engine tells the serving process."""
    for key in _CONFIGURED:
        _CONFIGURED[key] = request.config.get(f"trainer:{key}")


def told() -> Connection:
    """Kubeconfig and context of the stack, where its program runs."""
    return Connection(_CONFIGURED["kubeconfig"], _CONFIGURED["context"])


def configured(state: JSON) -> Connection:
    """The same for a resource of the state, also where no program runs."""
    head, project, *_ = urn(state).split("::")
    return connection.configured(told(), project, head.rpartition(":")[2])


def urn(properties: JSON) -> str:
    """The URN that messages about a resource name: its own, or of a gate the gate's."""
    return str(properties["urn"] if "urn" in properties else properties["owner"]["urn"])


def problems(inputs: JSON) -> Iterator[Problem]:
    """What is missing or wrong in target and engine."""
    target, engine = inputs.get("target"), inputs.get("engine")
    if target not in TARGETS:
        yield _choice("target", target, TARGETS)
    elif target == KUBERNETES and engine not in ENGINES:
        yield _choice("engine", engine, ENGINES)


def _choice(key: str, got: Any, choices: tuple[str, ...]) -> Problem:
    commands = " or ".join(f"`pulumi config set trainer:{key} {each}`" for each in choices)
    what = "is not set" if got is None else f"must be {' or '.join(choices)}"
    return Problem(f"trainer:{key}", what, got, f"run {commands}", "stack configuration")


def outputs_root(inputs: JSON) -> str:
    """The address below which a run's outputs are kept where they have none of their own."""
    if given := inputs.get("outputsAt"):
        return str(given)
    return f"{folder.state_home()}/outputs" if inputs["target"] == LOCAL else ""


def volumes_root() -> str:
    """The folder that stands for volume claims on this machine, one for each namespace in it."""
    return f"{folder.state_home()}/volumes"


def of(inputs: JSON, found: Connection | None = None) -> Target:
    """The target of a resource; nothing is asked of it yet.

    Args:
        inputs: of the resource, or its state.
        found: how a cluster is reached; None for what its program says.
    """
    if inputs["target"] == LOCAL:
        from trainer_infra.local.target import ThisMachine  # noqa: PLC0415  only one is loaded

        return ThisMachine()
    known = found or told()
    with _CONNECTING:
        return _cluster(known.kubeconfig, known.context)


def news_of(inputs: JSON, objects: tuple[JSON, ...]) -> tuple[str, ...]:
    """What the target has to say before the objects are submitted, that this process did not say.

    What is wrong with a cluster is wrong for all its runs.
    """
    return once(of(inputs).warnings(objects))


def once(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the sentences that this process did not say."""
    said = tuple(each for each in sentences if each and each not in _SAID)
    _SAID.update(said)
    return said


@lru_cache(maxsize=1)
def _cluster(kubeconfig: str | None, context: str | None) -> Target:
    from trainer_infra.cluster.provider.runs import Cluster  # noqa: PLC0415  only one target is loaded

    return Cluster(kubeconfig, context)
