"""A run's settings as they may be shown: without texts that look like secrets.

Secrets that were given as such are not among the settings; a key that was written into an argument
or a variable as plain text is, and is hidden here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trainer_infra import names
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run
from trainer_infra.runs.settings import RunSettings


def shown_settings(run: Run) -> RunSettings:
    """The settings with `<secret>` in place of what looks like one."""
    given = run.settings
    return replace(
        given,
        arguments=_shown(given.arguments),
        defaults=_shown(given.defaults),
        env=_shown(given.env),
        command=tuple(_words(given.command)),
    )


def settings_facts(run: Run) -> Mapping[str, str]:
    """The settings as lines of a description, by title; empty where there is nothing to say."""
    given = shown_settings(run)
    secret = "and secret ones" if given.secret_arguments else ""
    defaults = sentences.settings_line(given.defaults)
    nodes = f"{given.nodes} node{'s' * (given.nodes != 1)}" if given.nodes else ""
    of_node = sentences.settings_line(given.resources)
    return {
        "Runtime": given.runtime,
        "Image": given.image,
        "Resources": ", ".join(filter(None, (nodes, f"each {of_node}" if of_node else ""))),
        "Command": " ".join(given.command),
        "Arguments": " ".join(filter(None, (sentences.settings_line(given.arguments), secret))),
        "Defaults": f"{defaults}, as it was given none" if defaults else "",
        "Packages": " ".join(given.packages),
        "Variables": sentences.settings_line(given.env),
        "Inputs": sentences.settings_line(given.inputs),
    }


def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _without_secrets(name, each) for name, each in values.items()}


def _words(words: Sequence[str]) -> Iterator[str]:
    before = ("", *words)
    for option, word in zip(before, words, strict=False):
        yield _without_secrets(option if option.startswith("-") else "", word)


def _without_secrets(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return _shown(value)
    if isinstance(value, list):
        return [_without_secrets(name, each) for each in value]
    if not isinstance(value, str) or not value:
        return value
    # The rules are imported only where there is a text: they are many.
    from trainer_infra.rules.pod_security import literal_secrets  # noqa: PLC0415

    return names.SECRET_SHOWN if literal_secrets.kind_of_secret(value, name) else value
