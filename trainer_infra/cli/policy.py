"""What a user asks of the commands about policy, by their options: `check` and `rules`."""

from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import typer

from trainer_infra.cli.options import Context, Kubeconfig

Format = StrEnum("Format", ["TEXT", "JSON", "SARIF", "JUNIT", "GITHUB", "GITLAB", "MARKDOWN"])
"""How a report is written."""
Least = StrEnum("Least", ["LOW", "MEDIUM", "HIGH", "CRITICAL"])
"""A severity from which on something is so."""
DeployedBy = StrEnum("DeployedBy", ["ARGOCD", "FLUX"])
"""What applies a folder."""
RulesFormat = StrEnum("RulesFormat", ["TABLE", "JSON"])
"""How rules are listed."""
USUAL: Final = "trainer-policy.yaml"
"""The configuration that is read where none is named: the nearest, up to the repository's folder."""


class CheckRequest(NamedTuple):
    """What a user asks of `trainer-infra check`."""

    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", help="Files, folders, Kustomize folders, Helm charts; - for stdin."
        ),
    ] = None
    values: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Values for Helm charts, the last one wins; repeatable."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Leave out files and folders, as in .gitignore; repeatable."
        ),
    ] = None
    pack: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="training, restricted, cost, or a folder with pack.py."),
    ] = None
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The configuration; else the nearest trainer-policy.yaml above."
        ),
    ] = None
    environment: Annotated[
        str | None, typer.Option(metavar="NAME", help="An environment of the configuration.")
    ] = None
    form: Annotated[Format, typer.Option("--format", help="What is written to stdout.")] = (
        Format.TEXT
    )
    output: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT=FILE", help="Also write a report to a file; repeatable."),
    ] = None
    fail_on: Annotated[
        Least | None,
        typer.Option(help="Severity from which on a finding fails the check; else the pack's."),
    ] = None
    show: Annotated[
        Least,
        typer.Option(help="Severity from which on text, markdown and github show a finding."),
    ] = Least.LOW
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Findings in it are known and do not fail.")
    ] = None
    write_baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write what is found as a baseline.")
    ] = None
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the safe patches into the files, then check.")
    ] = False
    changed_from: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Judge only objects that differ from a git revision."),
    ] = None
    pre_commit: Annotated[
        bool, typer.Option("--pre-commit", help="Judge what is committed, as a hook of pre-commit.")
    ] = False
    deployed_by: Annotated[
        DeployedBy | None,
        typer.Option(help="Judge what this tool applies of a folder, and nothing else in it."),
    ] = None
    print_objects: Annotated[
        bool,
        typer.Option(
            "--print-objects",
            help="Print the judged objects if the check passes; the report goes to stderr.",
        ),
    ] = False
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Look at the cluster too; without PATH judge it.")
    ] = False
    kubeconfig: Kubeconfig = None
    context: Context = None


PackOfRules = Annotated[
    str | None,
    typer.Option(metavar="PACK", help="Only a pack's rules: one of ours, or a folder of your own."),
]


class RulesRequest(NamedTuple):
    """Which rules are to be listed."""

    pack: PackOfRules = None
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only those with one of these tags; repeatable."),
    ] = None
    severity: Annotated[Least | None, typer.Option(help="Only those that are at least as bad.")] = (
        None
    )
    framework: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only those of one of these standards; repeatable."),
    ] = None
