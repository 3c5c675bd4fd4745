"""Models and datasets of the Hub: which organizations they may come from, where a list says so."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.data import output
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_ADDRESS: Final = re.compile(
    r"(?:hf://|https?://(?:www\.)?(?:huggingface\.co|hf\.co)/)(?:datasets/|spaces/|models/)?([^/?#@\s]+)(?:/.*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAME: Final = re.compile(r"([A-Za-z0-9][\w.-]*)/[A-Za-z0-9][\w.-]*(?:@\S+)?", re.ASCII)
_VARIABLES: Final = (
    *("MODEL", "MODEL_ID", "MODEL_NAME", "MODEL_NAME_OR_PATH", "BASE_MODEL"),
    *("HF_MODEL", "HF_MODEL_ID", "HF_DATASET", "DATASET", "DATASET_ID", "DATASET_NAME"),
    *("PRETRAINED_MODEL", "TOKENIZER", "TOKENIZER_NAME"),
)
_OPTIONS: Final = (
    *("model", "model_id", "model_name", "model_name_or_path", "base_model"),
    *("pretrained_model_name_or_path", "hf_model", "tokenizer", "tokenizer_name", "hub_model"),
    *("tokenizer_name_or_path", "dataset", "dataset_name", "dataset_id", "dataset.source"),
    *("model_args.model_name_or_path", "teacher_model_name_or_path", "reward_model_path"),
)
_FOLDERS: Final = frozenset(
    ("checkpoints", "data", "dataset", "datasets", "model", "models", "output", "outputs", "spaces")
)
"""Words before a / that are a folder, or that the Hub gives to no organization."""


class HubOrganization(Parameters):
    """Whose models and datasets may be used."""

    allow: tuple[str, ...] | None = None
    """Organizations of the Hub; None for any."""
    env: tuple[str, ...] = _VARIABLES
    """Variables that name a model or a dataset."""
    options: tuple[str, ...] = _OPTIONS
    """Arguments that do, without dashes in front and with `_` between words."""


def _check(place: PodContainer, context: Context[HubOrganization]) -> Iterator[Finding]:
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


RULE: Final = Rule(
    id="hub-organization",
    title="Models and datasets must come from allowed organizations",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("data", "supply-chain", "initializers"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "The owner of a repository of the Hub can change what a job loads from it: weights, data, "
        "and code that runs with `trust_remote_code`. Names that look alike are easy to register."
    ),
    fix="Use a model of an organization in `allow`, or copy it to one.",
    places=pods.containers,
    check=_check,
    parameters=HubOrganization,
)
"""Quiet without a list. What has no organization, such as `gpt2`, may be a folder and is left out in options."""
