"""Options that several commands share.

Options that belong together are the fields of a named tuple, which costs each start of the program
less than a dataclass: `with_option_groups` puts them into a command's signature where it takes one.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, NamedTuple

import typer


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
    """Where runs live, as `names` has it."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


class TableFormat(StrEnum):
    """How runs and runtimes are listed."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


class RunFormat(StrEnum):
    """How runs are listed."""

    TABLE = "table"
    CSV = "csv"
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
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The runs' names.")]
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
        "--namespace",
        "-n",
        metavar="NAME",
        help="The runs' namespace; else the Pulumi stack's here, else the context's.",
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


Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="With commas: args (those that differ), metrics, env, settings, or the name of one.",
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort", metavar="NAME", help="By a column, the smallest first; -NAME the largest first."
    ),
]
Metrics = Annotated[
    bool, typer.Option("--metrics", help="What its training reported so far, as a table.")
]
Plot = Annotated[
    str | None, typer.Option(metavar="METRIC", help="The same as a plot of this metric.")
]
AllRows = Annotated[bool, typer.Option("--all", help="Every report as a row, not twenty.")]


class TargetRequest(NamedTuple):
    """Where a command's runs live, as its options say; None where one is not given."""

    namespace: Namespace = None
    target: Target = None
    kubeconfig: Kubeconfig = None
    """One path or several (`os.pathsep`)."""
    context: Context = None


class RunSelection(NamedTuple):
    """What is asked of a run; empty for all of them."""

    project: OfProject = None
    stack: OfStack = None
    """Perhaps with the project before it, and with the organization before that."""
    phase: InPhase = None
    """One of these."""
    older_than: OlderThan = None
    """Seconds since it was created, at least."""
    newer_than: NewerThan = None
    """Seconds since it was created, at most."""

    def __bool__(self) -> bool:
        return any(self)


class TableRequest(NamedTuple):
    """Which columns a table of runs has, and in which order runs are."""

    columns: Columns = None
    sort: Sort = None

    def __bool__(self) -> bool:
        return any(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the columns."""
        return tuple(filter(None, map(str.strip, (self.columns or "").split(","))))


class MetricsRequest(NamedTuple):
    """Whether a run's history is asked for, and how."""

    metrics: Metrics = False
    plot: Plot = None
    all_rows: AllRows = False

    def __bool__(self) -> bool:
        return any(self)


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: the fields of each option group among its parameters."""
    declared = signature(command)
    groups: dict[str, Any] = {}
    parameters = []
    for name, each in declared.parameters.items():
        group = each.annotation
        if not hasattr(group, "_fields"):
            parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        for option, default in group._field_defaults.items():
            made = Parameter(option, Parameter.KEYWORD_ONLY, default=default)
            parameters.append(made.replace(annotation=group.__annotations__[option]))

    @wraps(command)
    def called(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(*(values.pop(each) for each in group._fields))
        command(**values)

    called.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(called)["__signature__"] = declared.replace(parameters=parameters)
    return called


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
