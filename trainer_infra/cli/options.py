"""Options that several commands share. Called by `main`; imports nothing but typer."""

from enum import StrEnum
from typing import Annotated

import typer


class Written(StrEnum):
    """How objects are written."""

    YAML = "yaml"
    JSON = "json"


class MigratedAs(StrEnum):
    """How migrated jobs are written."""

    YAML = "yaml"
    JSON = "json"
    PYTHON = "python"


class Where(StrEnum):
    """Where runs live."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


class Listed(StrEnum):
    """How runs and runtimes are listed."""

    TABLE = "table"
    YAML = "yaml"
    JSON = "json"


Name = Annotated[str, typer.Argument(metavar="NAME", help="A run's name.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="The runs' names.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="The runs' namespace; else the context's."
    ),
]
Target = Annotated[
    Where | None, typer.Option(help="Where runs live; else what the Pulumi stack here says.")
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
