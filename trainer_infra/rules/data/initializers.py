"""Datasets and models: where initializers fetch them from, with which tokens, and whose they are on the Hub."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.initializers import ROLES, has_our_program
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.rules import pods
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.supply_chain import images


def containers(subject: Subject) -> Iterator[PodContainer]:
    """The containers of initializers."""
    for each in pods.containers(subject):
        if each.pod.step in pods.INITIALIZERS and not each.is_init:
            yield each


def variables(container: PodContainer) -> Iterator[tuple[str, Value]]:
    """Name and literal value of its variables; those whose names are not known are noted."""
    for each in container.value["env"].items():
        if not each["name"].is_noted():
            yield each["name"].text(), each["value"]


def source_uri(container: PodContainer) -> Value | None:
    """Where its source is written; None where it is not."""
    found = [value for name, value in variables(container) if name == names.STORAGE_URI]
    return found[-1] if found else None


def uri_scheme(uri: str) -> str:
    """The scheme of a URI; empty where it has none."""
    found, separator, _ = uri.partition("://")
    return found.lower() if separator else ""


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
    yield from subject.once(containers)
    yield from subject.once(output.jobs)


def _check_schemes(
    place: PodContainer | OutputJob, context: Context[StorageScheme]
) -> Iterator[Finding]:
    given = context.parameters
    if isinstance(place, PodContainer):
        uri, allow = source_uri(place), _allowed(place, given)
        if uri is None or not uri.text():
            return
        if allow is not None:
            what = "is not a URI that the initializer can fetch"
            yield from _of_uri(uri, uri.text(), allow, what)
        elif has_our_program(place.value["image"].text(), place.value["args"].texts()):
            yield from _of_ours(uri, ROLES[str(place.pod.step)])
        return
    if given.outputs is None:
        return
    container = place.container.value
    for each in output.outputs(container, output.VARIABLES, output.OPTIONS):
        if uri_scheme(each.folder):
            what = "is a store that results must not be written to"
            yield from _of_uri(each.value, each.folder, given.outputs, what)


def _of_ours(uri: Value, kind: str) -> Iterator[Finding]:
    """What our own initializer says of a URI in its pod."""
    try:
        parse_uri(uri.text(), kind)
    except DownloadFailure as failure:
        yield uri.finding(failure.cause, f"{uri_scheme(uri.text())}://…", failure.remedy)


def _allowed(container: PodContainer, given: StorageScheme) -> Sequence[str] | None:
    if given.allow is not None:
        return given.allow
    step = container.pod.step
    return _KNOWN[step] if images.image_name(container.value["image"].text()) == step else None


def _of_uri(value: Value, uri: str, allow: Sequence[str], what: str) -> Iterator[Finding]:
    """Shows the scheme alone: some people write keys into URIs."""
    scheme = uri_scheme(uri)
    if scheme not in allow:
        known = " or ".join(f"{each}://" for each in allow)
        got = f"{scheme}://…" if scheme else "a path without a scheme"
        yield value.finding(what, got, f"use {known or 'none: no store is allowed'}")


STORAGE_SCHEME: Final = Rule(
    id="storage-scheme",
    title="Data and results must be in stores that the job can use",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("data", "initializers"),
    why="An initializer fails on a URI that it cannot read, and nothing trains.",
    fix="Correct the URI, copy the data to a store in `allow`, or use an initializer that supports the scheme.",
    places=_places,
    check=_check_schemes,
    parameters=StorageScheme,
)
"""By default initializers are held to what the reference's own can fetch (`hf`, `s3`, and `cache` for
datasets), where it is these that run, and ours to what ours read; initializers of one's own are held to
what is set.
"""


class TokenReference(Parameters):
    """What is a secret."""

    env: tuple[str, ...] = (
        *("ACCESS_TOKEN", "SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PASSWORD", "REGISTRY_PASSWORD"),
        *("HUGGINGFACE_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "HF_API_TOKEN", "HUGGINGFACE_HUB_TOKEN"),
        *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"),
        *("AZURE_STORAGE_KEY", "AZURE_CLIENT_SECRET", "WANDB_API_KEY", "KAGGLE_KEY"),
    )
    """Variables that hold a token, a password or a key."""


_SECRET: Final = re.compile(
    r"://[^/?#@]*:[^/?#@]+@|://(hf_|ghp_|github_pat_|glpat-)[^/?#@]*@"
    r"|[?&](sig|token|access_token|api_key|X-Amz-Signature|X-Goog-Signature|X-Amz-Security-Token)=(?!\$)[^&#]",
    re.IGNORECASE,
)
"""A password, a token or a signature in a URI."""


def _check_tokens(place: PodContainer, context: Context[TokenReference]) -> Iterator[Finding]:
    for name, value in variables(place):
        if value.is_noted():
            continue
        text = value.text()
        # A reference to another variable says nothing in plain text.
        if name in context.parameters.env and text and not text.startswith("$("):
            what = f"says {name} in plain text, for all who can read the object"
            yield value.finding(what, names.SECRET_SHOWN, _fix(place, name))
        elif name == names.STORAGE_URI and _SECRET.search(value.text()):
            what = "has a secret in it, for all who can read the object"
            fix = f"write the URI without it; {_fix(place, 'the variable')}"
            yield value.finding(what, names.SECRET_SHOWN, fix)


def _fix(container: PodContainer, name: str) -> str:
    part = "dataset" if container.pod.step == names.DATASET_INITIALIZER else "model"
    return f"put {name} into a Secret, and name that in spec.initializer.{part}.secretRef"


TOKEN_REFERENCE: Final = Rule(
    id="token-reference",
    title="Initializers must take tokens from Secrets",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "secrets", "initializers"),
    frameworks=("cis-kubernetes/5.4.1",),
    why=(
        "The text of a TrainJob or runtime is in git, in snapshots and in every listing of the "
        "objects: a token there is no longer secret."
    ),
    fix="Put the token into a Secret and name it in secretRef; then replace the exposed token.",
    places=containers,
    check=_check_tokens,
    parameters=TokenReference,
)


_ADDRESS: Final = re.compile(
    r"(?:hf://|https?://(?:www\.)?(?:huggingface\.co|hf\.co)/)(?:datasets/|spaces/|models/)?([^/?#@\s]+)(?:/.*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAME: Final = re.compile(r"([A-Za-z0-9][\w.-]*)/[A-Za-z0-9][\w.-]*(?:@\S+)?", re.ASCII)
_HUB_VARIABLES: Final = (
    *("MODEL", "MODEL_ID", "MODEL_NAME", "MODEL_NAME_OR_PATH", "BASE_MODEL"),
    *("HF_MODEL", "HF_MODEL_ID", "HF_DATASET", "DATASET", "DATASET_ID", "DATASET_NAME"),
    *("PRETRAINED_MODEL", "TOKENIZER", "TOKENIZER_NAME"),
)
_HUB_OPTIONS: Final = (
    *("model", "model_id", "model_name", "model_name_or_path", "base_model"),
    *("pretrained_model_name_or_path", "hf_model", "tokenizer", "tokenizer_name", "hub_model"),
    *("tokenizer_name_or_path", "dataset", "dataset_name", "dataset_id", "dataset.source"),
    *("teacher_model_name_or_path", "reward_model_path"),
)
_FOLDERS: Final = frozenset(
    ("checkpoints", "data", "dataset", "datasets", "model", "models", "output", "outputs", "spaces")
)
"""Words before a / that are a folder, or that the Hub gives to no organization."""


class HubOrganization(Parameters):
    """Whose models and datasets may be used."""

    allow: tuple[str, ...] | None = None
    """Organizations of the Hub; None for any."""
    env: tuple[str, ...] = _HUB_VARIABLES
    """Variables that name a model or a dataset."""
    options: tuple[str, ...] = _HUB_OPTIONS
    """Arguments that do, without dashes in front and with `_` between words."""


def _check_hub(place: PodContainer, context: Context[HubOrganization]) -> Iterator[Finding]:
    given = context.parameters
    if given.allow is None:
        return
    allow, sources = {each.lower() for each in given.allow}, context.subject.object["spec"]
    for value, organization in _organizations(place.value, given):
        if organization.lower() not in allow:
            for part in ("dataset", "model") if value.is_inherited() else ():
                # Where the runtime names it, it must be known whether the TrainJob names another one.
                sources.at("initializer", part, "storageUri").is_there()
            what = "is an organization of the Hub that is not allowed"
            fix = f"use a model or dataset of {' or '.join(given.allow) or 'no organization: none is allowed'}"
            yield where_to_fix(value.finding(what, organization, fix))


def _organizations(container: Value, given: HubOrganization) -> Iterator[tuple[Value, str]]:
    """Where the container names something of the Hub, and whose it is."""
    for each in output.outputs(container, given.env, given.options):
        found = _NAME.fullmatch(each.folder)
        if found and found[1].lower() not in _FOLDERS:
            yield each.value, found[1]
    words = (each for part in ("command", "args") for each in container[part].items())
    for text in (*words, *(each["value"] for each in container["env"].items())):
        for word in re.split(r"[\s'\"=,;]+", text.text()):
            if found := _ADDRESS.fullmatch(word):
                yield text, found[1]


HUB_ORGANIZATION: Final = Rule(
    id="hub-organization",
    title="Models and datasets must come from allowed organizations",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS,
    tags=("data", "supply-chain", "initializers"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "The owner of a repository of the Hub can change what a job loads from it: weights, data, "
        "and code that runs with `trust_remote_code`. Names that look alike are easy to register."
    ),
    fix="Use a model of an organization in `allow`, or copy it to one.",
    places=pods.containers,
    check=_check_hub,
    parameters=HubOrganization,
)
"""Quiet without a list. What has no organization, such as `gpt2`, may be a folder and is left out in options."""
