"""Options that several commands share, and what a command is asked for by its options.

Options that belong together are the fields of a named tuple, which costs each start of the program
less than a dataclass: `with_option_groups` puts them into a command's signature where it takes one.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

ObjectFormat = StrEnum("ObjectFormat", ["YAML", "JSON"])
"""How objects are written."""
MigratedAs = StrEnum("MigratedAs", ["YAML", "JSON", "PYTHON"])
"""How migrated jobs are written."""
TargetName = StrEnum("TargetName", ["LOCAL", "KUBERNETES"])
"""Where runs live, as `names` has it."""
TableFormat = StrEnum("TableFormat", ["TABLE", "YAML", "JSON"])
"""How runs and runtimes are listed."""
RunFormat = StrEnum("RunFormat", ["TABLE", "CSV", "YAML", "JSON"])
"""How runs are listed."""


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
LikeReference = Annotated[bool, typer.Option("--like-reference", help="Switch our deviations off.")]


class TargetRequest(NamedTuple):
    """Where a command's runs live, as its options say; None where one is not given."""

    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            help="The runs' namespace; else the Pulumi stack's here, else the context's.",
        ),
    ] = None
    target: Annotated[
        TargetName | None,
        typer.Option(help="Where runs live; else what the Pulumi stack here says."),
    ] = None
    kubeconfig: Kubeconfig = None
    """One path or several (`os.pathsep`)."""
    context: Context = None


class RunSelection(NamedTuple):
    """What is asked of a run; empty for all of them."""

    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Only runs of this Pulumi project."),
    ] = None
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack", metavar="NAME", help="Only runs of this stack; also PROJECT/STACK."
        ),
    ] = None
    """Perhaps with the project before it, and with the organization before that."""
    phase: Annotated[
        list[PhaseName] | None,
        typer.Option("--phase", case_sensitive=False, help="Only runs in this phase; repeatable."),
    ] = None
    """One of these."""
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            parser=_age,
            metavar="AGE",
            help="Only runs of at least this age, such as 7d.",
        ),
    ] = None
    """Seconds since it was created, as `newer_than`."""
    newer_than: Annotated[
        float | None,
        typer.Option(
            "--newer-than", parser=_age, metavar="AGE", help="Only runs of at most this age."
        ),
    ] = None

    def __bool__(self) -> bool:
        return any(self)


class RunChoice(NamedTuple):
    """What the command line says of the runs that it is about: names, or options."""

    names: Names = None
    selection: RunSelection = RunSelection()
    every_namespace: AllNamespaces = False

    def judge(self) -> None:
        """Refuse a command line that says neither, or both.

        Raises:
            typer.BadParameter: it does.
        """
        if bool(self.names) == bool(self.selection):
            raise typer.BadParameter(
                "give the names of runs, or options that choose them, such as --stack: "
                f"{'not both' if self.names else 'one of both'}"
            )
        if self.names and self.every_namespace:
            raise typer.BadParameter(
                "--all-namespaces is for options that choose runs, not for names"
            )


class TableRequest(NamedTuple):
    """Which columns a table of runs has, and in which order runs are."""

    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="With commas: args (those that differ), metrics, env, settings, or the name of one.",
        ),
    ] = None
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="NAME",
            help="By a column, the smallest first; -NAME the largest first.",
        ),
    ] = None

    def __bool__(self) -> bool:
        return any(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the columns."""
        return tuple(filter(None, map(str.strip, (self.columns or "").split(","))))


class MetricsRequest(NamedTuple):
    """Whether a run's history is asked for, and how."""

    metrics: Annotated[
        bool, typer.Option("--metrics", help="What its training reported so far, as a table.")
    ] = False
    plot: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The same as a plot of this metric.")
    ] = None
    all_rows: Annotated[bool, typer.Option("--all", help="Every report as a row, not twenty.")] = (
        False
    )

    def __bool__(self) -> bool:
        return any(self)


class PythonRequest(NamedTuple):
    """What only a Python file has, named as its options; all empty for a YAML file."""

    runtime: Annotated[
        str | None, typer.Option(metavar="NAME", help="Python: else plain-distributed.")
    ] = None
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Python: the number of nodes.")] = (
        None
    )
    cpu: Annotated[
        str | None, typer.Option(metavar="N", help="Python: processors of each node.")
    ] = None
    arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=JSON", help="Python: an argument of the function; repeatable."),
    ] = None
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Python: an env variable; repeatable."),
    ] = None
    package: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME==VERSION", help="Python: a requirement, or a lock file; repeatable."
        ),
    ] = None
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="Arguments of a Python script.")
    ] = None


class StarterRequest(NamedTuple):
    """The project that `init` makes."""

    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="Where; made where it is missing.")
    ] = "."
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The project's name; else the folder's.")
    ] = None
    target: Annotated[TargetName | None, typer.Option(help="Where it trains; else local.")] = None
    context: Context = None
    package: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Path or URL of trainer-infra for requirements.txt; else where this one is from.",
        ),
    ] = None

    @property
    def place(self) -> TargetName:
        """Where it trains: a context is one of Kubernetes."""
        return self.target or (TargetName.LOCAL if self.context is None else TargetName.KUBERNETES)


class ControllerRequest(NamedTuple):
    """How the controller is started."""

    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The manager's configuration.")
    ] = None
    kubeconfig: Annotated[
        str | None,
        typer.Option("--kubeconfig", metavar="FILE", help="Outside a cluster: which one."),
    ] = None
    feature_gates: Annotated[
        str, typer.Option("--feature-gates", metavar="NAME=BOOL,...", help="Alpha features.")
    ] = ""
    like_reference: LikeReference = False
    log_level: Annotated[
        str, typer.Option("--log-level", help="debug, info, warning or error.")
    ] = "info"
    plugin: Plugins = None


class LockRequest(NamedTuple):
    """What to lock."""

    requirements: Annotated[Path, typer.Argument(metavar="FILE", help="A requirements file.")] = (
        Path("requirements.in")
    )
    """Names, with ranges or without."""
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The lock; else FILE with .lock."),
    ] = None
    python: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The oldest Python that it is for; else this one."),
    ] = None
    image_has: Annotated[
        list[str] | None,
        typer.Option(
            "--image-has",
            metavar="NAME",
            help="A package of the image, left out with what only it needs; repeatable.",
        ),
    ] = None
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Take the newest versions, not those of the lock.")
    ] = False


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: the fields of each option group among its parameters."""
    declared = signature(command)
    parameters = [each for one in declared.parameters.values() for each in _options(one)]

    @wraps(command)
    def called(**values: Any) -> None:
        command(**{each.name: _value(each, values) for each in declared.parameters.values()})

    called.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(called)["__signature__"] = declared.replace(parameters=parameters)
    return called


def _options(declared: Parameter) -> Iterator[Parameter]:
    """A parameter; of an option group its fields, which may be groups themselves."""
    if not hasattr(declared.annotation, "_fields"):
        yield declared.replace(kind=Parameter.KEYWORD_ONLY)
    for each in _fields(declared.annotation):
        yield from _options(each)


def _value(declared: Parameter, values: Mapping[str, Any]) -> Any:
    group = declared.annotation
    if not hasattr(group, "_fields"):
        return values[declared.name]
    return group(*(_value(each, values) for each in _fields(group)))


def _fields(group: Any) -> Iterator[Parameter]:
    for name, default in getattr(group, "_field_defaults", {}).items():
        kind, annotation = Parameter.KEYWORD_ONLY, group.__annotations__[name]
        yield Parameter(name, kind, default=default, annotation=annotation)
