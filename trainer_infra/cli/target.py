"""Which place a command talks to: this machine, or a cluster.

For every command about runs. What the command line says comes first, then the
nearest Pulumi program's selected stack (`stack_config`), then this machine. Only the chosen
target's room is imported, and nothing is asked of it here.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trainer_infra import names
from trainer_infra.cli.options import TargetRequest
from trainer_infra.deploy import stack_config
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.targets import (
    ENGINES,
    KUBERNETES,
    LOCAL,
    PROVIDER,
    TARGETS,
)
from trainer_infra.deploy.stack_config import Project, Settings
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import kubeconfig_context
from trainer_infra.runs.target import Target

if TYPE_CHECKING:
    from trainer_infra.cluster.runs import ClusterRuns


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


@dataclass(frozen=True, slots=True)
class _Connection:
    """How a target is reached."""

    kind: str
    kubeconfig: str | None = None
    context: str | None = None
    engine: str = PROVIDER
    """The one that is asked first."""
    namespace: str | None = None
    """The stack's."""


def chosen_place(asked: TargetRequest) -> RunPlace:
    """The place of a command in this folder.

    Raises:
        NotAvailable: Stacks differ and none is selected, or one says what cannot be.
        typer.BadParameter: The options exclude one another.
    """
    project = stack_config.nearest_program(Path.cwd()) if _needs_stack(asked) else None
    return _place(asked, stack_config.chosen_stack(project) if project else ())


def of_stack(asked: TargetRequest, project: Project, stack: str) -> RunPlace:
    """The place of a stack's runs; options that are given come first.

    Raises:
        NotAvailable: The stack says what cannot be.
        typer.BadParameter: The options exclude one another.
    """
    return _place(asked, (stack_config.of_stack(project, stack),))


def _needs_stack(asked: TargetRequest) -> bool:
    return asked.target != LOCAL and asked.kubeconfig is None


def _place(asked: TargetRequest, stacks: Sequence[Settings]) -> RunPlace:
    found = _connection(asked, stacks)
    if found.kind == LOCAL:
        this_machine = targets.open_target(LOCAL)
        namespace = names.namespace_of(asked.namespace or found.namespace)
        return RunPlace(this_machine, LOCAL, "on this machine", namespace)
    seen = kubeconfig_context.context_of(found.kubeconfig, found.context)
    shown = f"on the cluster of context {seen.name}" if seen.name else "on this cluster"
    # With the runs of every engine, the stack's first.
    cluster = targets.open_cluster(found.kubeconfig, found.context, found.engine, every_run=True)
    namespace = asked.namespace or found.namespace or seen.namespace
    return RunPlace(cluster, KUBERNETES, shown, namespace, cluster)


def _connection(asked: TargetRequest, stacks: Sequence[Settings]) -> _Connection:
    given = [each for each in ("kubeconfig", "context") if getattr(asked, each) is not None]
    if asked.target == LOCAL and given:
        raise typer.BadParameter(f"--{given[0]} is of --target {KUBERNETES}, not of {LOCAL}")
    kind = asked.target or (KUBERNETES if given else None)
    if kind == LOCAL or not _needs_stack(asked):
        return _Connection(kind or LOCAL, asked.kubeconfig, asked.context)
    told = {each for each in ("context", "namespace") if getattr(asked, each)}
    stack = _only([each for each in stacks if kind in (None, _target(each))], told)
    if stack is None:
        return _Connection(kind or LOCAL, None, asked.context)
    namespace = asked.namespace or stack.get("namespace")
    if _target(stack) == LOCAL:
        return _Connection(LOCAL, namespace=namespace)
    engine = stack.get("engine") or PROVIDER
    if engine not in ENGINES:
        raise NotAvailable(
            f"stack {stack.stack} of project {stack.project.name} has trainer:engine {engine!r}, "
            f"which is not one of {', '.join(ENGINES)}; name a cluster with --kubeconfig"
        )
    context = asked.context or stack.get("context")
    return _Connection(KUBERNETES, _kubeconfig(stack), context, engine, namespace)


def _only(stacks: Sequence[Settings], told: Collection[str]) -> Settings | None:
    """The stack to go by, whatever its values of the keys that were told; None when there is none.

    Raises:
        NotAvailable: There are several that say different things.
    """
    values = [{key: each.values[key] for key in each.values if key not in told} for each in stacks]
    if all(each == values[0] for each in values):
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
    found = stack.get("target") or LOCAL
    if found not in TARGETS:
        raise NotAvailable(
            f"stack {stack.stack} of project {stack.project.name} has trainer:target {found!r}, "
            f"which is not one of {', '.join(TARGETS)}; name one with --target"
        )
    return found


def _kubeconfig(stack: Settings) -> str | None:
    """The stack's kubeconfig; relative paths begin in the program's folder, as for Pulumi."""
    found = stack.get("kubeconfig")
    if not found or "\n" in found or found.lstrip().startswith("{"):
        return found or None
    program = stack.project.folder / str(stack.project.content.get("main") or "")
    return os.pathsep.join(str(program / each) for each in found.split(os.pathsep))
