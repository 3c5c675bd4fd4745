"""Signatures of the commands about policy: `check` and `rules`; hooked into `main`.

As there, a command's module is imported when the command runs.
"""
# ruff: noqa: PLC0415  a command's module is imported when the command runs
# ruff: noqa: PLR0913, PLR0917  a command has as many parameters as options

from enum import StrEnum
from typing import Annotated

import typer

from trainer_infra.cli.options import Context, Kubeconfig


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"


class Least(StrEnum):
    """A severity from which on something is so."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH", help="Files, folders, Kustomize folders, Helm charts; - for stdin."
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Values for Helm charts, the last one wins; repeatable."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN", help="Leave out files and folders, as in .gitignore; repeatable."
    ),
]
PackName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="training, restricted, cost, or a folder with pack.py."),
]
Config = Annotated[
    str | None, typer.Option(metavar="FILE", help="The configuration; else ./trainer-policy.yaml.")
]
Environment = Annotated[
    str | None, typer.Option(metavar="NAME", help="An environment of the configuration.")
]
Form = Annotated[Format, typer.Option("--format", help="What is written to stdout.")]
Output = Annotated[
    list[str] | None,
    typer.Option(metavar="FORMAT=FILE", help="Also write a report to a file; repeatable."),
]
FailOn = Annotated[
    Least | None,
    typer.Option(help="Severity from which on a finding fails the check; else the pack's."),
]
Show = Annotated[
    Least, typer.Option(help="Severity from which on text, markdown and github show a finding.")
]
Baseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="Findings in it are known and do not fail.")
]
NewBaseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write what is found as a baseline.")
]
Fix = Annotated[
    bool, typer.Option("--fix", help="Write the safe patches into the files, then check.")
]
ChangedFrom = Annotated[
    str | None,
    typer.Option(metavar="REF", help="Judge only objects that differ from a git revision."),
]
Cluster = Annotated[
    bool, typer.Option("--cluster", help="Look at the cluster too; without PATH judge it.")
]


def check(
    paths: Paths = None,
    values: Values = None,
    exclude: Exclude = None,
    pack: PackName = None,
    config: Config = None,
    environment: Environment = None,
    form: Form = Format.TEXT,
    output: Output = None,
    fail_on: FailOn = None,
    show: Show = Least.LOW,
    baseline: Baseline = None,
    write_baseline: NewBaseline = None,
    fix: Fix = False,
    changed_from: ChangedFrom = None,
    cluster: Cluster = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Judge TrainJobs, runtimes and queues by policy rules.

    Exit code: 0 nothing fails, 1 a finding does, 2 wrong usage, 3 something cannot be read.
    """
    from trainer_infra.cli import check as command
    from trainer_infra.cli.check_request import CheckRequest

    if not paths and not cluster:
        raise typer.BadParameter("name a file or a folder, - for stdin, or use --cluster")
    try:
        asked = CheckRequest(
            paths=tuple(paths or ()),
            values=tuple(values or ()),
            exclude=tuple(exclude or ()),
            pack=pack,
            config=config,
            environment=environment,
            form=form.value,
            outputs=command.outputs(output or ()),
            fail_on=fail_on.value if fail_on else None,
            show=show.value,
            baseline=baseline,
            write_baseline=write_baseline,
            fix=fix,
            changed_from=changed_from,
            cluster=(kubeconfig, context) if cluster else None,
        )
    except command.Usage as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(command.run(asked))


rules_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List policy rules, explain them, test packs."
)

_Pack = Annotated[
    str | None,
    typer.Option(metavar="PACK", help="Only a pack's rules: one of ours, or a folder of your own."),
]


class RulesFormat(StrEnum):
    """How rules are listed."""

    TABLE = "table"
    JSON = "json"


@rules_app.command("list")
def list_rules(
    pack: _Pack = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only those with one of these tags; repeatable."),
    ] = None,
    severity: Annotated[
        FailOn | None, typer.Option(help="Only those that are at least as bad.")
    ] = None,
    framework: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only those of one of these standards; repeatable."),
    ] = None,
    output: Annotated[
        RulesFormat, typer.Option("--output", "-o", help="Format.")
    ] = RulesFormat.TABLE,
) -> None:
    """List the policy rules."""
    from trainer_infra.cli import rules as command

    asked = command.RulesRequest(
        pack, tuple(tag or ()), severity and severity.value, tuple(framework or ())
    )
    typer.echo(command.list_rules(asked, output.value), nl=False)


@rules_app.command()
def explain(
    rule: Annotated[str, typer.Argument(metavar="ID", help="A rule.")], pack: _Pack = None
) -> None:
    """Show why a rule is there, what to do about its findings, its parameters and an example."""
    from trainer_infra.cli import rules as command

    typer.echo(command.explain_rule(rule, pack), nl=False)


@rules_app.command()
def test(
    pack: Annotated[
        str, typer.Argument(metavar="PACK", help="One of ours, or a folder of your own.")
    ],
) -> None:
    """Try every rule of a pack on its good and bad examples.

    Exit code: 0 all are as they should be, 1 some are not.
    """
    from trainer_infra.cli import rules as command

    raise typer.Exit(command.try_rules(pack))
