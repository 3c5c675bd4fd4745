"""`trainer-infra catalog`: the shipped runtimes, as a table or as manifests that kubectl applies.

What is printed as YAML or JSON is what a TrainJob of that runtime's name runs on.
"""

from collections.abc import Sequence

import typer

from trainer_infra import catalog
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.cli import render, screen, table
from trainer_infra.cli.table import Column
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.words import listed

COLUMNS = (
    Column("NAME"),
    Column("FRAMEWORK"),
    Column("FOR", folds=True),
    Column("IMAGE", below=True),
)


def show(names: Sequence[str], output: str) -> None:
    """Print runtimes of the catalog, all of them when no name is given.

    Raises:
        InvalidInput: holds a problem for each name that the catalog does not have.
    """
    chosen = {name: catalog.shipped(name) for name in names}
    if unknown := [name for name, each in chosen.items() if each is None]:
        what = "is not a runtime of the catalog"
        raise InvalidInput(Problem("", what, name, catalog.advice(name)) for name in unknown)
    found = [each for each in chosen.values() if each is not None] or catalog.RUNTIMES
    if output == "table":
        rows = [(each.name, each.framework, each.purpose, _image(each)) for each in found]
        typer.echo("\n".join(table.table_lines(COLUMNS, rows, screen.screen_of_stdout())))
        return
    objects = [each.runtime().to_wire() for each in found]
    typer.echo(render.objects_text(objects, output), nl=False)


def _image(shipped: ShippedRuntime) -> str:
    """The image that trains, and how many others there are."""
    template = shipped.runtime().to_wire()["spec"]["template"]["spec"]
    pods = [each["template"]["spec"]["template"]["spec"] for each in template["replicatedJobs"]]
    images = list(dict.fromkeys(each["image"] for pod in pods for each in pod["containers"]))
    return listed(reversed(images), most=1)
