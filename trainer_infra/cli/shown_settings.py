"""A run's settings as they may be shown: without texts that look like secrets.

Secrets that were given as such are not among the settings; a key that was written into an argument
or a variable as plain text is, and is hidden here.
"""

from collections.abc import Mapping
from dataclasses import replace

from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run
from trainer_infra.runs.settings import RunSettings
from trainer_infra.secret_texts import texts


def shown_settings(run: Run) -> RunSettings:
    """The settings with `<secret>` in place of what looks like one."""
    given = run.settings
    return replace(
        given,
        arguments=texts.shown_value(given.arguments),
        defaults=texts.shown_value(given.defaults),
        env=texts.shown_value(given.env),
        command=texts.shown_value(given.command),
    )


def settings_facts(run: Run) -> Mapping[str, str]:
    """The settings as lines of a description, by title; empty where there is nothing to say."""
    given = shown_settings(run)
    secret = "and secret ones" if given.secret_arguments else ""
    defaults = sentences.settings_line(given.defaults)
    nodes = f"{given.nodes} node{'s' * (given.nodes != 1)}" if given.nodes else ""
    nodes = f"{given.least_nodes} to {nodes}" if given.least_nodes and nodes else nodes
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
