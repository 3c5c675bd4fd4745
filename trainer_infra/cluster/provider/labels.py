"""Labels of every object of a run: whose it is, found again whatever the state says. Pure.

Called by `prepared`, which puts them on, and by `record`. DESIGN.md, rule 5: what a killed create
left behind is found by them.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.runs.run import Owner

LENGTH: Final = 63
"""Characters of a label's value."""
_VALUE: Final = re.compile("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", re.ASCII)
_HASH: Final = 8


def of_run(owner: Owner, job: str) -> Mapping[str, str]:
    """The labels of an object of a run.

    Args:
        owner: who declared it; a URN is longer than a label may be, so its hash stands for it.
        job: the TrainJob's name.
    """
    return {
        names.PROJECT_LABEL: value(owner.project),
        names.STACK_LABEL: value(owner.stack),
        names.URN_LABEL: _hash(owner.urn, 32) if owner.urn else "",
        names.RUN_LABEL: value(job),
    }


def value(text: str) -> str:
    """A text as a label's value: as it is where that may be, else cut, with a hash at its end."""
    if len(text) <= LENGTH and _VALUE.fullmatch(text):
        return text
    plain = re.sub("[^-A-Za-z0-9_.]", "-", text)[: LENGTH - _HASH - 1].strip("-_.")
    return f"{plain}-{_hash(text, _HASH)}" if plain else _hash(text, _HASH)


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
