"""With which settings a run trains: runtime, arguments, packages, image, variables, resources. Pure.

The TrainJob says it, as its user and its trainer wrote it; what it leaves to its runtime is read from the
JobSet. `run.Run` has it, on every target.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.command_lines import program, references
from trainer_infra.render.command_lines.program_options import LauncherKind

_OURS: Final = frozenset((names.SECRET_ARGS, names.SOURCE_FOLDER))
"""Variables by which our launcher finds its files."""
_LAUNCHER: Final = f"{names.CODE_MOUNT}/main.py"
_RANGE: Final = re.compile(r"--nnodes=(\d+):\d+")
_OPTION: Final = re.compile(r"--?[A-Za-z][\w.-]*")
_UNREAD: Final = "…"
"""In place of what is known only when the program runs, such as the value of a variable."""
_NUMBER: Final = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_ASSIGNED: Final = re.compile(r"(?:--?|[+~]{0,2})([A-Za-z][\w./@-]*)=(.*)", re.DOTALL)
"""An option or an override of a configuration: `--lr=0.1`, `optimizer.lr=0.1`."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run was given. Secrets stand in it by their names only."""

    runtime: str = ""
    """The runtime that it names."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of its function, or of its command line, by name."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that its function has where it is given none, as far as they are plain values."""
    secret_arguments: bool = False
    """Whether it was given arguments that are secret, besides."""
    command: tuple[str, ...] = ()
    """Of a TrainJob that brings its own; empty where we start its code."""
    packages: tuple[str, ...] = ()
    """Its packages, with versions."""
    image: str = ""
    """Of the container that trains."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of its trainer; of one from elsewhere from where: `secret NAME KEY`."""
    nodes: int = 0
    """How many it has; 0 as long as that is its runtime's to say and not known."""
    least_nodes: int = 0
    """With how many it goes on where there are no more; 0 where it needs all."""
    resources: Mapping[str, str] = field(default_factory=dict)
    """Of each node, by name."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """URIs of its `dataset` and its `model`."""
    suspended: bool = False
    """Whether its pods shall not run now: a user suspended it, its turn has not come, or Kueue holds it."""


def settings_of(job: JSONObject) -> RunSettings:
    """What a TrainJob in wire form says; a part that is damaged says nothing."""
    spec = _mapping(job.get("spec"))
    trainer = _mapping(spec.get("trainer"))
    notes = _mapping(job["metadata"].get("annotations"))
    noted = _mapping(_noted(notes, names.ARGUMENTS))
    words = tuple(map(str, (*_list(trainer.get("command")), *_list(trainer.get("args")))))
    is_ours = _LAUNCHER in words
    told = words[words.index(_LAUNCHER) + 1 :] if is_ours else _of_program(words)
    env = {str(each.get("name")): each for each in map(_mapping, _list(trainer.get("env")))}
    inputs = {name: _mapping(each) for name, each in _mapping(spec.get("initializer")).items()}
    nodes = trainer.get("numNodes")
    return RunSettings(
        runtime=str(_mapping(spec.get("runtimeRef")).get("name") or ""),
        arguments={**dict(word_arguments(told)), **_mapping(noted.get("given"))},
        defaults=_mapping(noted.get("defaults")),
        secret_arguments=names.SECRET_ARGS in env,
        command=() if is_ours else words,
        packages=tuple(map(str, _list(_noted(notes, names.PACKAGES)))),
        image=str(trainer.get("image") or ""),
        env={name: _variable(each) for name, each in env.items() if name not in _OURS},
        nodes=nodes if isinstance(nodes, int) else 0,
        least_nodes=next((int(found[1]) for each in words if (found := _RANGE.fullmatch(each))), 0),
        resources=_amounts(trainer.get("resourcesPerNode")),
        suspended=spec.get("suspend") is True,
        inputs={name: str(uri) for name, each in inputs.items() if (uri := each.get("storageUri"))},
    )


def with_pods(
    settings: RunSettings, jobset: JSONObject | None, nodes: int, *, suspended: bool
) -> RunSettings:
    """The settings with what the runtime decides, from the JobSet; as they are without one.

    So many pods train, and `suspended` is what the TrainJob says now.
    """
    spec = (jobset or {}).get("spec") or {}
    settings = replace(settings, suspended=suspended or spec.get("suspend") is True)
    container = next((each for _, each in resolve.trainer_containers(spec)), None)
    if container is None:
        return settings
    return replace(
        settings,
        image=str(container.get("image") or settings.image),
        nodes=settings.nodes or nodes,
        resources=_amounts(container.get("resources")) or settings.resources,
    )


def word_arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Arguments of a command line by name: `--lr 0.1`, `--lr=0.1`, `lr=0.1`, flags, words by their place.

    How many words an option takes only its program knows: it gets those up to the next option that are
    numbers as the first one is, or none as it is.
    """
    found: dict[str, list[str]] = {}
    name, place = "", 0
    for word in words:
        if assigned := _ASSIGNED.fullmatch(word):
            name = ""
            found.setdefault(assigned[1], []).append(assigned[2])
        elif _OPTION.fullmatch(word):
            name = word.lstrip("-")
            found.setdefault(name, [])
        elif name and len({bool(_NUMBER.fullmatch(each)) for each in (*found[name], word)}) == 1:
            found[name].append(word)
        else:
            name, place = "", place + 1
            found[str(place)] = [word]
    for key, values in found.items():
        yield key, " ".join(values) if values else "true"


def _of_program(words: Sequence[str]) -> Sequence[str]:
    """What the program that trains is told: not what its launcher is, and none of a shell's words."""
    line = program.read_command_line(words)
    found = next(iter((*line.launchers()[:1], *reversed(line.programs))), None)
    if found is None:
        return words
    starts = tuple(each.replace(references.UNREAD, _UNREAD) for each in found.starts)
    if found.kind == LauncherKind.OTHER or not starts:
        return starts
    inner = program.read_command_line(starts).launchers()
    return _of_program(starts) if inner else starts[1:]


def _noted(notes: JSONObject, key: str) -> Any:
    try:
        return json.loads(str(notes.get(key) or "null"))
    except ValueError:
        return None


def _mapping(value: Any) -> JSONObject:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _variable(variable: JSONObject) -> str:
    """What a variable has, or where that is: never the value of a secret."""
    for kind, given in _mapping(variable.get("valueFrom")).items():
        of = _mapping(given)
        if where := of.get("fieldPath") or of.get("resource"):
            return f"field {where}"
        parts = (kind.removesuffix("KeyRef"), of.get("name"), of.get("key"))
        return " ".join(str(each) for each in parts if each)
    return str(variable.get("value") or "")


def _amounts(resources: Any) -> dict[str, str]:
    """Requests, or limits where they say more, by name of the resource."""
    given = _mapping(resources)
    both = {**_mapping(given.get("limits")), **_mapping(given.get("requests"))}
    return {str(name): str(each) for name, each in both.items()}
