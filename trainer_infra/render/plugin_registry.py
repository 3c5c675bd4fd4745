"""Plugins of other packages: `PACKAGE.MODULE:NAME`, listed by the user in the order they run.

A listed plugin runs after ours of the same phase and before JobSet, which writes what the others
decided. How to write one: docs/plugins.md.
"""

import importlib
from collections.abc import Iterable

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS


def plugins_with(listed: Iterable[str]) -> tuple[Plugin, ...]:
    """Our plugins and the listed ones, such as `acme_trainer.ray:PLUGIN`, in run order.

    Raises:
        InvalidInput: With one problem for each name that is not a plugin, or is one a second time.
    """
    added: list[Plugin] = []
    problems: list[Problem] = []
    for position, name in enumerate(listed):
        known = {each.name for each in (*PLUGINS, *added)}
        try:
            added.append(_load(name, known))
        except (ImportError, ValueError) as error:
            problems.append(Problem(f"plugins[{position}]", str(error), got=name))
    if problems:
        raise InvalidInput(problems)
    *ours, jobset = PLUGINS
    return (*ours, *added, jobset)


def _load(name: str, known: set[str]) -> Plugin:
    module, separator, attribute = name.partition(":")
    if not separator or not attribute:
        raise ValueError("is not of the form PACKAGE.MODULE:NAME")
    found = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(found, Plugin):
        raise ValueError(f"is not a trainer_infra Plugin but {type(found).__name__}")  # noqa: TRY004  one problem like the others
    if found.name in known:
        raise ValueError(f"is named {found.name}, as a plugin that runs already")
    return found
