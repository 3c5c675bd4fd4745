"""The configuration of a check: a pack, what else holds for its rules, pools, exemptions.

One YAML file, read by `review` and by policy packs; what it says of an environment wins. Pure: the
text has been read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import Field

from trainer_infra.api import yaml_source
from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.rules import packs
from trainer_infra.rules.exemption import Exemption
from trainer_infra.rules.pack import Pack, Setting
from trainer_infra.rules.pool import Pool


class Environment(KubeModel):
    """What holds in one environment besides."""

    rules: dict[str, Setting] = Field(default_factory=dict)
    """By rule."""
    pools: tuple[Pool, ...] | None = None
    """The machines; None for those of the file."""
    exemptions: tuple[Exemption, ...] = ()
    """Further ones."""
    is_whole: bool | None = None
    """As the file's; None for the file's."""
    folders: tuple[str, ...] = ()
    """Folders whose objects are of this environment alone, as patterns; what no environment has is
    of all of them."""


class ChartValues(KubeModel):
    """How a Helm chart is rendered where its own values do not do."""

    path: str
    """The chart's folder, as a pattern."""
    values: tuple[str, ...] = ()
    """Files of values; the last one wins."""
    inline: dict[str, Any] = Field(default_factory=dict)
    """Values that win over those of the files."""
    release: str = ""
    """Name of the release; empty for helm's own."""
    namespace: str = ""
    """Its namespace; empty for helm's own."""


class Configuration(KubeModel):
    """The file."""

    pack: str | None = None
    """Name of one of our packs; None for the one that was asked for."""
    rules: dict[str, Setting] = Field(default_factory=dict)
    """By rule."""
    pools: tuple[Pool, ...] = ()
    """The machines that there are."""
    exemptions: tuple[Exemption, ...] = ()
    """Who answers for what."""
    is_whole: bool = False
    """Whether what is not in the files that are checked is nowhere."""
    exclude: tuple[str, ...] = ()
    """Files and folders that a check leaves out, as patterns of a .gitignore file."""
    charts: tuple[ChartValues, ...] = ()
    """How charts are rendered; the first entry that names a chart lies beneath its other values."""
    environments: dict[str, Environment] = Field(default_factory=dict)
    """By name."""


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """What holds in the end, by the file and an environment; fields as those of `Configuration`."""

    pack: Pack
    """The pack with the settings of both."""
    pools: tuple[Pool, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    is_whole: bool = False
    exclude: tuple[str, ...] = ()
    charts: tuple[ChartValues, ...] = ()
    environments: Mapping[str, "ResolvedConfiguration"] = field(default_factory=dict)
    """What holds in environments that have folders, by name; none where one alone is asked for."""
    folders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of every environment that has some, by name."""
    root: str = "."
    """The folder that patterns of folders are relative to."""


def read_configuration(text: str, file: str) -> Configuration:
    """The configuration that a file's text is; an empty one where it says nothing.

    Raises:
        InvalidInput: It is none; has every problem.
    """
    sources = yaml_source.read_yaml(text, file)
    if len(sources) > 1:
        raise InvalidInput([Problem("", "must be one YAML document", where=file)])
    problems = [each.problem(file) for source in sources for each in source.findings]
    value: Any = sources[0].value if sources else {}
    if not isinstance(value, dict):
        problems.append(Problem("", "must be an object", where=file))
    if problems:
        raise InvalidInput(problems)
    try:
        return Configuration(**value)
    except InvalidInput as error:
        raise InvalidInput(replace(each, where=file) for each in error.problems) from None


def resolve_configuration(
    configuration: Configuration, environment: str | None, pack: Pack | None, root: str = "."
) -> ResolvedConfiguration:
    """What holds in an environment, or in none, with the pack that was asked for.

    Without one it is the file's pack, or `training`. Its patterns are relative to `root`.

    Raises:
        InvalidInput: The file does not have that environment, names no pack, or exempts from no rule.
    """
    there = _environment(configuration, environment)
    chosen = pack or packs.get_pack(configuration.pack or packs.TRAINING.name)
    problems = list(_unknown_rules(configuration, chosen))
    if problems:
        raise InvalidInput(problems)
    known = configuration.environments.items()
    folders = {name: each.folders for name, each in known if each.folders}
    others = {
        name: _resolved(configuration, configuration.environments[name], chosen)
        for name in (() if environment else folders)
    }
    settled = _resolved(configuration, there, chosen)
    return replace(settled, folders=folders, environments=others, root=root)


def _resolved(file: Configuration, there: Environment, pack: Pack) -> ResolvedConfiguration:
    return ResolvedConfiguration(
        pack.with_settings(file.rules).with_settings(there.rules),
        file.pools if there.pools is None else there.pools,
        (*file.exemptions, *there.exemptions),
        file.is_whole if there.is_whole is None else there.is_whole,
        file.exclude,
        file.charts,
    )


def _unknown_rules(configuration: Configuration, pack: Pack) -> Iterator[Problem]:
    """Exemptions from what is not a rule."""
    known = {each.id for each in pack.rules}
    environments = configuration.environments.items()
    lists = {"": configuration.exemptions}
    lists |= {f"environments.{name}.": each.exemptions for name, each in environments}
    for start, exemptions in lists.items():
        for index, each in enumerate(exemptions):
            if each.rule not in known:
                fix = "`trainer-infra rules list` lists all"
                yield Problem(f"{start}exemptions[{index}].rule", "is not a rule", each.rule, fix)


def _environment(configuration: Configuration, name: str | None) -> Environment:
    if name is None:
        return Environment()
    if name not in configuration.environments:
        known = " or ".join(configuration.environments) or "add it: there are none"
        problem = Problem("environments", "does not have this environment", name, f"use {known}")
        raise InvalidInput([problem])
    return configuration.environments[name]
