"""Labels of every object of a run: whose it is, found again whatever the state says. Pure.

A render plugin of engine `provider` puts them on; `record` and `adopt` read and renew them. What a
killed create left behind is found by them (design rule 5).
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.run import Owner

LENGTH: Final = 63
"""Characters of a label's value."""
_VALUE: Final = re.compile("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", re.ASCII)
_HASH: Final = 8


def labels_plugin(owner: Owner) -> Plugin:
    """The render plugin that labels every object of a run of that owner."""

    def complete(value: JSONObject, job: TrainJob) -> JSONObject:
        marks = labels_of(owner, job.metadata.name)
        if is_record(value, job.metadata.name):
            marks = {**marks, names.RECORD_LABEL: "true"}
        return with_labels(value, marks)

    return Plugin("RunLabels", applies=lambda _: True, complete=complete)


def is_record(value: JSONObject, job: str) -> bool:
    """Whether an object is the record of the TrainJob's run: its runtime snapshot."""
    wanted = ("ConfigMap", f"{job}{names.SNAPSHOT_SUFFIX}")
    return (value["kind"], value["metadata"]["name"]) == wanted


def with_labels(value: JSONObject, marks: Mapping[str, str]) -> JSONObject:
    """An object with these labels besides its other ones."""
    metadata = value["metadata"]
    both = {**(metadata.get("labels") or {}), **marks}
    return {**value, "metadata": {**metadata, "labels": both}}


def labels_of(owner: Owner, job: str) -> Mapping[str, str]:
    """The labels of an object of a run; a URN is longer than a label may be, so its hash stands for it."""
    return {
        names.PROJECT_LABEL: label_value(owner.project),
        names.STACK_LABEL: label_value(owner.stack),
        names.URN_LABEL: _hash(owner.urn, 32) if owner.urn else "",
        names.RUN_LABEL: label_value(job),
    }


def label_value(text: str) -> str:
    """A text as a label's value: as it is where that may be, else cut, with a hash at its end."""
    if len(text) <= LENGTH and _VALUE.fullmatch(text):
        return text
    plain = re.sub("[^-A-Za-z0-9_.]", "-", text)[: LENGTH - _HASH - 1].strip("-_.")
    return f"{plain}-{_hash(text, _HASH)}" if plain else _hash(text, _HASH)


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
