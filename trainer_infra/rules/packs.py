"""The packs that we ship.

`policies/<name>` serves each to CrossGuard; `trainer-infra check --pack NAME` applies it to files.
"""

from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.rules import exemption
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.pack import Pack, Selection, Setting

TRAINING: Final = Pack(
    name="training",
    description="For every team: what fails, harms others or gives away secrets is stopped.",
    mandatory_from=Severity.HIGH,
)
RESTRICTED: Final = Pack(
    name="restricted",
    description="For clusters that several tenants share: stops what may cost another tenant.",
    mandatory_from=Severity.MEDIUM,
    settings={exemption.OWN: Setting(parameters={"allowed": False})},
)
COST: Final = Pack(
    name="cost",
    description="For those who pay: what is asked for, for how long, and what it costs.",
    selection=Selection(tags=("capacity", "cost")),
    mandatory_from=Severity.HIGH,
)

PACKS: Final = (TRAINING, RESTRICTED, COST)


def get_pack(name: str) -> Pack:
    """The pack of that name.

    Raises:
        InvalidInput: There is none.
    """
    known = {each.name: each for each in PACKS}
    if name not in known:
        raise InvalidInput([Problem("pack", "is not a pack", name, f"use {' or '.join(known)}")])
    return known[name]
