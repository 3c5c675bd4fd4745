"""storage-scheme: data comes from and results go to stores that can be used here.

By default initializers are held to what the reference's own can fetch (`hf`, `s3`, and `cache` for
datasets), where it is these that run, and ours to what ours read; initializers of one's own are held to
what is set.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.initializers import ROLES, has_our_program
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.rules.data import initializers, output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.supply_chain import image

_KNOWN: Final = {
    names.DATASET_INITIALIZER: ("hf", "s3", "cache"),
    names.MODEL_INITIALIZER: ("hf", "s3"),
}
"""What the reference's initializers fetch from (Kubeflow Trainer v2.3.0, pkg/initializers)."""


class StorageScheme(Parameters):
    """What may be used."""

    allow: tuple[str, ...] | None = None
    """Schemes of initializers' URIs; None for what the reference's initializers know."""
    outputs: tuple[str, ...] | None = None
    """Schemes of URIs that results are written to; None for any."""


def _places(subject: Subject) -> Iterator[PodContainer | OutputJob]:
    yield from subject.once(initializers.containers)
    yield from subject.once(output.jobs)


def _check(place: PodContainer | OutputJob, context: Context[StorageScheme]) -> Iterator[Finding]:
    given = context.parameters
    if isinstance(place, PodContainer):
        uri, allow = initializers.uri(place), _allowed(place, given)
        if uri is not None and allow is not None and uri.text():
            yield from _of_uri(
                uri, uri.text(), allow, "is not a URI that the initializer can fetch"
            )
        elif uri is not None and uri.text() and _is_ours(place):
            yield from _of_ours(uri, ROLES[str(place.pod.step)])
        return
    if given.outputs is None:
        return
    container = place.container.value
    for each in output.outputs(container, output.VARIABLES, output.OPTIONS):
        if initializers.scheme(each.folder):
            what = "is a store that results must not be written to"
            yield from _of_uri(each.value, each.folder, given.outputs, what)


def _is_ours(container: PodContainer) -> bool:
    return has_our_program(container.value["image"].text(), container.value["args"].texts())


def _of_ours(uri: Value, kind: str) -> Iterator[Finding]:
    """What our own initializer says of a URI in its pod."""
    try:
        parse_uri(uri.text(), kind)
    except DownloadFailure as failure:
        yield uri.finding(failure.cause, f"{initializers.scheme(uri.text())}://…", failure.remedy)


def _allowed(container: PodContainer, given: StorageScheme) -> Sequence[str] | None:
    if given.allow is not None:
        return given.allow
    step = container.pod.step
    return _KNOWN[step] if image.name(container.value["image"].text()) == step else None


def _of_uri(value: Value, uri: str, allow: Sequence[str], what: str) -> Iterator[Finding]:
    """Shows the scheme alone: some people write keys into URIs."""
    scheme = initializers.scheme(uri)
    if scheme not in allow:
        known = " or ".join(f"{each}://" for each in allow)
        got = f"{scheme}://…" if scheme else "a path without a scheme"
        yield value.finding(what, got, f"use {known or 'none: no store is allowed'}")


RULE: Final = Rule(
    id="storage-scheme",
    title="Data and results are in stores that can be used here",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("data", "initializers"),
    why="An initializer fails on a URI that it cannot read, and nothing trains.",
    fix="Correct the URI, copy the data to a store of `allow`, or use an initializer that knows the scheme.",
    places=_places,
    check=_check,
    parameters=StorageScheme,
)
