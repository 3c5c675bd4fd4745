"""A checkout's package with mutants in it, each asleep until a variable names it: `plant`.

All mutants stand in one copy, so one run of the tests says which of them each test reaches.
"""

import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tools.mutation.sites import Site, sites_of

ROOMS: Final = (
    "render",
    "lifecycle",
    "rules",
    "deploy/operations",
    "cluster",
    "controller",
)
"""What decides: the same number of mutants is planted into each."""

SWITCH: Final = '''"""Which mutant is awake: made by tools/mutation."""

import os

AWAKE = os.environ.get("MUTANT", "")
REACHED = os.environ.get("MUTANTS_REACHED", "")
_SEEN = set()


def awake(number: int) -> bool:
    """Whether this mutant is the one; where asked, note which test came here."""
    if REACHED:
        here = (number, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
        if here not in _SEEN:
            _SEEN.add(here)
            with open(f"{REACHED}/{os.getpid()}", "a") as file:
                file.write(f"{number}\\t{here[1]}\\n")
    return AWAKE == str(number)
'''


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file of the package."""

    number: int
    file: str
    """Its path below the checkout."""
    site: Site


def chosen_mutants(checkout: Path, seed: int, per_room: int) -> list[Mutant]:
    """The same for the same seed and sources."""
    chance = random.Random(seed)  # noqa: S311  the same choice each time
    found: list[tuple[str, Site]] = []
    for room in ROOMS:
        files = sorted((checkout / "trainer_infra" / room).rglob("*.py"))
        sites = [
            (str(file.relative_to(checkout)), site)
            for file in files
            for site in sites_of(file.read_text())
        ]
        chance.shuffle(sites)
        taken: list[tuple[str, Site]] = []
        for file, site in sites:
            if len(taken) < per_room and not any(_overlap(file, site, each) for each in taken):
                taken.append((file, site))
        found += sorted(taken)
    return [Mutant(number, file, site) for number, (file, site) in enumerate(found, 1)]


def _overlap(file: str, site: Site, other: tuple[str, Site]) -> bool:
    return file == other[0] and site.start < other[1].end and other[1].start < site.end


def plant(checkout: Path, mutants: list[Mutant]) -> None:
    """Write them into the package of a checkout, which is a copy to be thrown away."""
    (checkout / "trainer_infra" / "mutation_switch.py").write_text(SWITCH)
    for name in sorted({mutant.file for mutant in mutants}):
        path = checkout / name
        text = path.read_bytes()
        here = [mutant for mutant in mutants if mutant.file == name]
        for mutant in sorted(here, key=lambda each: each.site.start, reverse=True):
            site = mutant.site
            text = text[: site.start] + _switched(mutant).encode() + text[site.end :]
        path.write_bytes(_with_import(text.decode()).encode())


def _switched(mutant: Mutant) -> str:
    test, site = f"_awake({mutant.number})", mutant.site
    return f"(({site.after or None}) if {test} else ({site.before}))"


def _with_import(text: str) -> str:
    """The text with the switch imported below its docstring."""
    closing = text.index('"""', text.index('"""') + 3) + 3
    line = "\nfrom trainer_infra.mutation_switch import awake as _awake\n"
    return text[:closing] + line + text[closing:]


def as_json(mutants: list[Mutant]) -> str:
    """For the next run and for people."""
    return json.dumps([asdict(each) for each in mutants], indent=1)
