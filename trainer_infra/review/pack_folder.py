"""Packs by name or by folder, and the examples of their rules.

A pack of a user's own is a folder with `pack.py`, which has a `PACK`, and `fixtures/<rule
id>.yaml`. Its `__main__.py` serves the pack to CrossGuard for as long as it runs, and is not
imported.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Final

import yaml

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review.rule_tests import Example, FailedExample
from trainer_infra.rules import RULES, fixture, packs
from trainer_infra.rules import pack as rules_pack
from trainer_infra.rules.fixture import Case, Cases
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Pack, PackRule

MODULE: Final = "pack.py"
NAME: Final = "PACK"
FIXTURES: Final = "fixtures"
_OURS: Final = frozenset(rule.id for rule in RULES)


@dataclass(frozen=True, slots=True)
class PackInFolder:
    """A pack, and where its own examples are."""

    pack: Pack
    folder: Path | None = None
    """The folder of a user's own; None for one of ours."""


def find_pack(name: str) -> PackInFolder:
    """The pack of that name, or in that folder.

    Raises:
        InvalidInput: There is none, or the folder's cannot be imported.
    """
    if any(each.name == name for each in packs.PACKS) or not Path(name).is_dir():
        return PackInFolder(packs.get_pack(name))
    path = Path(name) / MODULE
    where = os.fspath(path)
    if not path.is_file():
        fix = f"write {MODULE} with `{NAME} = Pack(...)`, or name one of our packs"
        raise InvalidInput([Problem("", "is not there", fix=fix, where=where)])
    pack = getattr(_module(path), NAME, None)
    if not isinstance(pack, Pack):
        fix = f"write `{NAME} = Pack(...)`"
        raise InvalidInput([Problem(NAME, "must be a Pack", pack, fix, where)])
    return PackInFolder(pack, Path(name))


def first_example(where: PackInFolder | None, rule: str) -> Case | None:
    """The first example of a rule: the pack's own, else ours; None where there is none."""
    own = _own(where.folder).get(rule) if where and where.folder else None
    cases = own or (fixture.shipped_cases(rule) if rule in _OURS else ())
    return cases[0] if cases else None


def all_examples(where: PackInFolder) -> tuple[tuple[Example, ...], tuple[FailedExample, ...]]:
    """Every example of the pack's rules, and what of them is missing.

    Ours are for the parameters that our rules have by default, a pack's own for those of the pack.

    Raises:
        InvalidInput: The pack's settings do not fit its rules, or its examples cannot be read.
    """
    own = _own(where.folder) if where.folder else {}
    applied = rules_pack.pack_rules(where.pack)
    told = tuple(one for each in applied for one in _of(each, own.pop(each.rule.id, None)))
    tried = {each.chosen.rule.id for each in told}
    untried = (each.rule.id for each in applied if each.rule.id not in tried)
    advice = f"has no examples; write {FIXTURES}/{{}}.yaml"
    missing = [FailedExample(rule, "", "", advice.format(rule)) for rule in untried]
    what = f"{FIXTURES} has examples of a rule that pack {where.pack.name} does not apply"
    return told, (*missing, *(FailedExample(rule, "", "", what) for rule in own))


def _of(each: PackRule, own: tuple[Case, ...] | None) -> Iterator[Example]:
    rule = each.rule
    for case in own or ():
        both = {**each.parameters.to_wire(), **(case.parameters or {})}
        yield Example(replace(each, parameters=rule.parameters(**both)), case)
    for case in fixture.shipped_cases(rule.id) if rule in RULES else ():
        set_so = rule.parameters(**(case.parameters or {}))
        yield Example(ConfiguredRule(rule, rule.severity, set_so), case)


def _own(folder: Path) -> dict[str, tuple[Case, ...]]:
    return {path.stem: _cases(path) for path in sorted((folder / FIXTURES).glob("*.yaml"))}


def _cases(path: Path) -> tuple[Case, ...]:
    where = os.fspath(path)
    try:
        value = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("", f"is not YAML: {error}", where=where)]) from None
    if not isinstance(value, dict):
        raise InvalidInput([Problem("", "must have `cases`", value, where=where)])
    try:
        return Cases(**value).cases
    except InvalidInput as error:
        raise InvalidInput(replace(each, where=where) for each in error.problems) from None


def _module(path: Path) -> ModuleType:
    """The module of a pack; others of its folder can be imported by it."""
    spec = importlib.util.spec_from_file_location(f"pack_{path.resolve().parent.name}", path)
    if spec is None or spec.loader is None:
        raise InvalidInput([Problem("", "is not a Python module", where=os.fspath(path))])
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.fspath(path.resolve().parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"cannot be imported: {type(error).__name__}: {error}"
        raise InvalidInput([Problem("", what, where=os.fspath(path))]) from error
    return module
