"""Options that several commands share. Called by `main`; imports little besides typer."""

import re
from enum import StrEnum
from typing import Annotated

import typer

from trainer_infra import names


class ObjectFormat(StrEnum):
    """How objects are written."""

    YAML = "yaml"
    JSON = "json"


class MigratedAs(StrEnum):
    """How migrated jobs are written."""

    YAML = "yaml"
    JSON = "json"
    PYTHON = "python"


class TargetName(StrEnum):
    """Where runs live."""

    LOCAL = names.TARGET_LOCAL
    KUBERNETES = names.TARGET_KUBERNETES


class TableFormat(StrEnum):
    """How runs and runtimes are listed."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


class PhaseName(StrEnum):
    """What a run can be, as `runs.run` has it."""

    CREATED = "Created"
    SUSPENDED = "Suspended"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"
    LOST = "Lost"


def _age(text: str) -> float:
    """Seconds of `7d`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if found is None:
        raise typer.BadParameter(f"wants a number with s, m, h, d or w, such as 7d, got {text!r}")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[found[2]]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A run's name, or what it begins with, or its Pulumi resource's name."
    ),
]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="The runs' names.")]
OfProject = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Only runs of this Pulumi project.")
]
OfStack = Annotated[
    str | None,
    typer.Option("--stack", metavar="NAME", help="Only runs of this stack; also PROJECT/STACK."),
]
InPhase = Annotated[
    list[PhaseName] | None,
    typer.Option("--phase", case_sensitive=False, help="Only runs in this phase; repeatable."),
]
OlderThan = Annotated[
    float | None,
    typer.Option(
        "--older-than",
        parser=_age,
        metavar="AGE",
        help="Only runs of at least this age, such as 7d.",
    ),
]
NewerThan = Annotated[
    float | None,
    typer.Option("--newer-than", parser=_age, metavar="AGE", help="Only runs of at most this age."),
]
EndedBefore = Annotated[
    float | None,
    typer.Option(
        "--older-than",
        parser=_age,
        metavar="AGE",
        help="Only what ended, or was last used, longer ago.",
    ),
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="The runs of every namespace.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="The runs' namespace; else the context's."
    ),
]
Target = Annotated[
    TargetName | None, typer.Option(help="Where runs live; else what the Pulumi stack here says.")
]
Kubeconfig = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Kubernetes: the kubeconfig; else the stack's, else yours."),
]
Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Kubernetes: a context of the kubeconfig.")
]

Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin", metavar="MODULE:NAME", help="A plugin of another package; repeatable, in order."
    ),
]
RuntimeOfPython = Annotated[
    str | None, typer.Option(metavar="NAME", help="Python: else plain-distributed.")
]
NodesOfPython = Annotated[
    int | None, typer.Option(metavar="N", help="Python: the number of nodes.")
]
CpuOfPython = Annotated[
    str | None, typer.Option(metavar="N", help="Python: processors of each node.")
]
