"""A run by its name, or a sentence that names the runs there are.

Called by every command that is given a run's name.
"""

import difflib
from collections.abc import Sequence
from typing import Final

import typer

from trainer_infra.cli.target import Place
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.lifecycle.run import Listing, Run

SHOWN: Final = 10
"""Names in a sentence, at most."""


def run(place: Place, name: str) -> Run:
    """The run of that name in the place's namespace.

    Raises:
        NotAvailable: there is none.
    """
    return runs(place, [name])[0]


def runs(place: Place, wanted: Sequence[str]) -> tuple[Run, ...]:
    """The runs of those names.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    found = {name: place.target.get(place.namespace, name) for name in wanted}
    unknown = [name for name, run in found.items() if run is None]
    if unknown:
        raise NotAvailable("\n".join(missing(place, name) for name in unknown))
    return tuple(run for run in found.values() if run is not None)


def warn_of(listing: Listing) -> None:
    """Say what should be a run's and cannot be read: the others are shown all the same."""
    for each in listing.unread:
        typer.echo(f"warning: {each}", err=True)


def missing(place: Place, name: str) -> str:
    """A sentence about a run that is not there."""
    here = [each.name for each in place.target.list_runs(place.namespace).runs]
    sentence = f"there is no run {name!r} in namespace {place.namespace} {place.shown}; "
    near = difflib.get_close_matches(name, here, SHOWN)
    listed = f"did you mean {' or '.join(near)}?" if near else f"its runs are: {_listed(here)}"
    elsewhere = _namespaces(place, name)
    hint = f"; namespace {', '.join(elsewhere)} has one of that name" if elsewhere else ""
    return sentence + listed + hint


def _listed(found: Sequence[str]) -> str:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (", ".join(found[:SHOWN]) or "none") + more


def _namespaces(place: Place, name: str) -> list[str]:
    """Other namespaces with a run of that name, as far as the user may see them."""
    try:
        everywhere = place.target.list_runs()
    except Refused:
        return []
    return sorted({each.namespace for each in everywhere.runs if each.name == name})
