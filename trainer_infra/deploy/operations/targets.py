"""Where runs can live, and what opens such a place: for Pulumi's resources and for the command line.

Stack configuration `trainer:target` and `trainer:engine` are inputs of every resource;
`trainer:kubeconfig` and `trainer:context` are not, so that no credential is among them (design
"Targets and engines"). Only the room of the target that is chosen is imported.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainer_infra import names
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.in_pod import own_place
from trainer_infra.json_values import JSONObject

if TYPE_CHECKING:
    from trainer_infra.cluster.runs import ClusterRuns
    from trainer_infra.runs.target import Target

LOCAL: Final = names.TARGET_LOCAL
KUBERNETES: Final = names.TARGET_KUBERNETES
PROVIDER: Final = "provider"
TARGETS: Final = (LOCAL, KUBERNETES)
CONTROLLER: Final = "controller"
ENGINES: Final = (PROVIDER, CONTROLLER)


def open_target(target: str, engine: str = PROVIDER) -> "Target":
    """A target, of clusters that of the default kubeconfig; nothing is asked of it yet. See `open_cluster`."""
    if target == LOCAL:
        from trainer_infra.local.target import ThisMachine  # noqa: PLC0415  only one is loaded

        return ThisMachine()
    return open_cluster(engine=engine)


def open_cluster(
    kubeconfig: str | None = None,
    context: str | None = None,
    engine: str = PROVIDER,
    *,
    every_run: bool = False,
) -> "ClusterRuns":
    """A cluster, which can say more than every target; nothing is asked of it yet.

    Args:
        kubeconfig: one path or several (`os.pathsep`), or the text of one.
        context: of the kubeconfig.
        engine: what drives its runs, one of `ENGINES`.
        every_run: whether runs of the other engine are known by name too.

    Raises:
        NotAvailable: A package that it needs is not installed.
    """
    try:
        from trainer_infra.cluster.controller.engine_controller import (  # noqa: PLC0415  the same
            ControlledCluster,
        )
        from trainer_infra.cluster.provider.engine_provider import Cluster  # noqa: PLC0415  the same
    except ModuleNotFoundError as error:
        raise NotAvailable(
            f"talking to a cluster needs the package {error.name}; "
            f"run `{own_place.install_command('kubernetes')}`"
        ) from None
    is_controllers = engine == CONTROLLER
    chosen, other = (ControlledCluster, Cluster) if is_controllers else (Cluster, ControlledCluster)
    return chosen(kubeconfig, context, (other.store,) if every_run else ())


def choice_problems(inputs: JSONObject) -> Iterator[Problem]:
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
