"""Which place a command talks to: this machine, or a cluster.

For every command about runs. What the command line says comes first, then the
nearest Pulumi program's selected stack (`stack_config`), then this machine. Only the chosen
target's room is imported, and nothing is asked of it here.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from trainer_infra import names
from trainer_infra.cli.options import TargetRequest
from trainer_infra.deploy import stack_config
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.targets import ENGINES, KUBERNETES, LOCAL, PROVIDER, TARGETS
from trainer_infra.deploy.stack_config import Project, Settings
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import kubeconfig_context
from trainer_infra.runs.target import Target

if TYPE_CHECKING:
    from trainer_infra.cluster.runs import ClusterRuns

_UNSET: Final = {
    "target": LOCAL,
    "engine": PROVIDER,
    "kubeconfig": None,
    "context": None,
    "namespace": None,
}
"""What a stack says of its place, with what holds where it says nothing."""


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a command's runs live."""

    target: Target
    """Who is asked."""
    kind: str
    """`local` or `kubernetes`."""
    shown: str
    """As a sentence ends with it: `on this machine`."""
    namespace: str
    """The one asked for, else the stack's, else the context's, else `default`."""
    cluster: "ClusterRuns | None" = None
    """The target where it is a cluster, which knows events besides."""


def chosen_place(asked: TargetRequest) -> RunPlace:
    """The place of a command in this folder.

    Raises:
        NotAvailable: Stacks differ and none is selected, or one says what cannot be.
        typer.BadParameter: The options exclude one another.
    """
    project = stack_config.nearest_program(Path.cwd()) if _needs_stack(asked) else None
    return _place(asked, stack_config.chosen_stack(project) if project else ())


def of_stack(asked: TargetRequest, project: Project, stack: str) -> RunPlace:
    """The place of a stack's runs; options that are given come first. Errors are those of `chosen_place`."""
    return _place(asked, (stack_config.of_stack(project, stack),))


def _needs_stack(asked: TargetRequest) -> bool:
    return asked.target != LOCAL and asked.kubeconfig is None


def _place(asked: TargetRequest, stacks: Sequence[Settings]) -> RunPlace:
    given = [each for each in ("kubeconfig", "context") if getattr(asked, each) is not None]
    if asked.target == LOCAL and given:
        raise typer.BadParameter(f"--{given[0]} applies to --target {KUBERNETES} only")
    kind = asked.target or (KUBERNETES if given else None)
    stack = None
    if _needs_stack(asked):
        told = {each for each in ("context", "namespace") if getattr(asked, each)}
        stack = _only([each for each in stacks if kind in (None, _target(each))], told)
    if stack is None:
        return _here(asked.namespace) if kind != KUBERNETES else _cluster(asked, PROVIDER)
    asked = asked._replace(namespace=asked.namespace or stack.get("namespace"))
    if _target(stack) == LOCAL:
        return _here(asked.namespace)
    engine = _one_of(ENGINES, stack, "engine", "name a cluster with --kubeconfig")
    context = asked.context or stack.get("context")
    return _cluster(asked._replace(kubeconfig=_kubeconfig(stack), context=context), engine)


def _here(namespace: str | None) -> RunPlace:
    this_machine = targets.open_target(LOCAL)
    return RunPlace(this_machine, LOCAL, "on this machine", names.namespace_of(namespace))


def _cluster(found: TargetRequest, engine: str) -> RunPlace:
    """A cluster with the runs of every engine, this one's first."""
    seen = kubeconfig_context.context_of(found.kubeconfig, found.context)
    shown = f"on the cluster of context {seen.name}" if seen.name else "on this cluster"
    cluster = targets.open_cluster(found.kubeconfig, found.context, engine, every_run=True)
    return RunPlace(cluster, KUBERNETES, shown, found.namespace or seen.namespace, cluster)


def _only(stacks: Sequence[Settings], told: Collection[str]) -> Settings | None:
    """The stack to go by, whatever its values of the keys that were told; None when there is none.

    Raises:
        NotAvailable: There are several that name different places.
    """
    asked = [key for key in _UNSET if key not in told]
    places = [[each.values.get(key, _UNSET[key]) for key in asked] for each in stacks]
    if all(each == places[0] for each in places):
        return stacks[0] if stacks else None
    said = ", ".join(f"{each.stack}: {_summary(each.values)}" for each in stacks)
    raise NotAvailable(
        f"the stacks of project {stacks[0].project.name} run in different places ({said}) and none "
        f"is selected; name the place with --target {LOCAL}, or with --kubeconfig and --context, "
        "or choose a stack with `pulumi stack select` or PULUMI_STACK"
    )


def _summary(values: Mapping[str, Any]) -> str:
    """What tells stacks apart, nothing that is secret."""
    plain = (values.get(key) for key in ("target", "context", "kubeconfig", "namespace"))
    return " ".join(each for each in plain if isinstance(each, str)) or LOCAL


def _target(stack: Settings) -> str:
    return _one_of(TARGETS, stack, "target", "name one with --target")


def _one_of(known: Collection[str], stack: Settings, key: str, advice: str) -> str:
    """A stack's setting, whose value must be known."""
    found = stack.get(key) or str(_UNSET[key])
    if found not in known:
        raise NotAvailable(
            f"stack {stack.stack} of project {stack.project.name} has trainer:{key} {found!r}, "
            f"which is not one of {', '.join(known)}; {advice}"
        )
    return found


def _kubeconfig(stack: Settings) -> str | None:
    """The stack's kubeconfig; relative paths begin in the program's folder, as for Pulumi."""
    found = stack.get("kubeconfig")
    if not found or "\n" in found or found.lstrip().startswith("{"):
        return found or None
    program = stack.project.folder / str(stack.project.content.get("main") or "")
    return os.pathsep.join(str(program / each) for each in found.split(os.pathsep))
