"""A run by its name, or a sentence that names the runs there are.

For every command that is given a run's name. Those that only read take the beginning of a name
too, and the name of a Pulumi resource, where one run alone can be meant; those that change something
want the whole name, and an error lists what it could be. Or runs by what options ask of them.
"""

import re
from collections.abc import Sequence
from typing import Final

import typer

from trainer_infra.cli.options import RunChoice, RunSelection
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import KUBERNETES
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Listing, Owner, Run
from trainer_infra.words import listed, nearest

SHOWN: Final = 10
"""Names in a sentence, at most."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def known_run(place: RunPlace, name: str) -> Run:
    """The run that is meant in the place's namespace, to read of it; says which, unless it is named.

    Raises:
        NotAvailable: there is none, or several can be meant.
    """
    found = exact_run(place, name) or exact_run(place, likely_name(place, name))
    if found is None:
        raise NotAvailable(missing_run(place, name))
    return found


def likely_name(place: RunPlace, name: str) -> str:
    """The name of the one run that a beginning or a resource's name can mean; says which.

    Raises:
        NotAvailable: there is none, or several can be meant.
    """
    of_resource, begun = _alike(_newest_first(place), name)
    # A resource's whole name says more than the beginning of another run's name.
    first = of_resource or begun
    if len(first) != 1:
        raise NotAvailable(missing_run(place, name))
    stack = stack_name(first[0].owner)
    whose = f" of stack {stack}" if stack else ""
    age = f"{first[0].phase}, {sentences.time_between(first[0].created)} old"
    typer.echo(f"{name} is taken for run {first[0].name}{whose} ({age})", err=True)
    return first[0].name


def is_name(name: str) -> bool:
    """Whether a run can be called so; a resource can be called anything."""
    return _NAME.fullmatch(name) is not None


def known_runs(place: RunPlace, wanted: Sequence[str]) -> tuple[Run, ...]:
    """The runs of exactly those names.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    found = {name: exact_run(place, name) for name in wanted}
    unknown = [name for name, run in found.items() if run is None]
    if unknown:
        raise NotAvailable("\n".join(missing_run(place, name) for name in unknown))
    return tuple(run for run in found.values() if run is not None)


def warn_of(listing: Listing) -> None:
    """Say what should be a run's and cannot be read: the others are shown all the same."""
    for each in listing.unread:
        typer.echo(f"warning: {each}", err=True)


def runs_here(place: RunPlace, namespace: str | None) -> Sequence[Run]:
    """The place's runs, of a namespace or (None) of all; of a home shared by machines, this one's."""
    listing = place.target.list_runs(namespace)
    warn_of(listing)
    if place.kind == KUBERNETES:
        return listing.runs
    here = place.target.host()
    return [run for run in listing.runs if run.host == here]


def missing_run(place: RunPlace, name: str) -> str:
    """A sentence about a run that is not there."""
    here = _newest_first(place)
    names = [each.name for each in here]
    sentence = f"there is no run {name!r} in namespace {place.namespace} {place.shown}; "
    near = [each.name for runs in _alike(here, name) for each in runs]
    near = near or nearest(name, names, SHOWN)
    hint = f"its runs are: {listed(names, most=SHOWN) or 'none'}"
    if near:
        hint = f"did you mean {listed(near, 'or', SHOWN)}?"
    elsewhere = _namespaces(place, name)
    other = f"; namespace {', '.join(elsewhere)} has one of that name" if elsewhere else ""
    return sentence + hint + other


def chosen_runs(place: RunPlace, choice: RunChoice, *, says_none: bool = True) -> Sequence[Run]:
    """The runs that are named, or those that options choose, the newest last, as events are shown.

    Where options choose none, `says_none` has it said where was looked.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    if choice.names:
        return known_runs(place, choice.names)
    namespace = None if choice.every_namespace else place.namespace
    listing = place.target.list_runs(namespace)
    warn_of(listing)
    found = [run for run in listing.runs if _fits(run, choice.selection)]
    if not found and says_none:
        where = f"{f' in namespace {namespace}' if namespace else ''} {place.shown}"
        typer.echo(_no_runs(where, choice.selection, listing.runs), err=True)
    return sorted(found, key=lambda run: run.created)


def _no_runs(where: str, asked: RunSelection, there: Sequence[Run]) -> str:
    """A sentence where no run of a place is as asked."""
    if not asked or not there:
        return f"no runs{where}"
    stacks = sorted({stack_name(each.owner) for each in there} - {""})
    others = f"; the runs there are of {listed(stacks, most=SHOWN)}" if stacks else ""
    return f"no run{where} is all that the options ask for{others}"


def stack_name(owner: Owner) -> str:
    """A run's stack as Pulumi writes it: `project/stack`; empty for who has none."""
    return f"{owner.project}/{owner.stack}" if owner.stack else ""


def ended_before(run: Run, seconds: float) -> bool:
    """Whether a run has ended, and that longer ago."""
    age = sentences.seconds_between(run.finished or run.created)
    return sentences.is_finished(run) and age >= seconds


def _alike(here: Sequence[Run], name: str) -> tuple[Sequence[Run], Sequence[Run]]:
    """Runs of a resource that is called so, and others whose names begin so."""
    of_resource = [run for run in here if name in _resources(run)]
    return of_resource, [
        run for run in here if run.name.startswith(name) and run not in of_resource
    ]


def _resources(run: Run) -> frozenset[str]:
    """What its Pulumi resource is called; of a member of a batch the batch's name and its own too."""
    name = run.owner.urn.rpartition("::")[2]
    return frozenset((name, *name.split("#"))) - {""}


def exact_run(place: RunPlace, name: str) -> Run | None:
    """The run of exactly that name; None where there is none."""
    return place.target.get(place.namespace, name) if is_name(name) else None


def _newest_first(place: RunPlace) -> Sequence[Run]:
    here = place.target.list_runs(place.namespace).runs
    return sorted(here, key=lambda run: run.created, reverse=True)


def _namespaces(place: RunPlace, name: str) -> list[str]:
    """Other namespaces with a run of that name, as far as the user may see them."""
    try:
        everywhere = place.target.list_runs()
    except Refused:
        return []
    return sorted({each.namespace for each in everywhere.runs if each.name == name})


def _fits(run: Run, asked: RunSelection) -> bool:
    *before, stack = (asked.stack or "").split("/")
    projects = {each for each in (asked.project, *before[-1:]) if each}
    age = sentences.seconds_between(run.created)
    return (
        all(run.owner.project == each for each in projects)
        and (not stack or run.owner.stack == stack)
        and (not asked.phase or run.phase in asked.phase)
        and (asked.older_than is None or age >= asked.older_than)
        and (asked.newer_than is None or age <= asked.newer_than)
    )
