"""Which rank of a run hangs, from what the first processes of its pods said of theirs (`in_pod.checkpoints`). Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace

from trainer_infra.api import checkpoint
from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.in_pod.checkpoints.hangs import SilentRank
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs import sentences
from trainer_infra.runs.waiting_cause import Cause, Waiting

_FIELDS = frozenset(each.name for each in fields(SilentRank))


def hanging_ranks(
    pods: Iterable[JSONObject], lines: Mapping[str, tuple[str, ...]]
) -> Iterator[Waiting]:
    """What holds a run up whose pods go on, by the last lines of their logs: one cause at most."""
    silent: list[SilentRank] = []
    for pod in pods:
        name = pod_facts.name(pod)
        if pod_facts.phase_of(pod) == "Running" and not pod_facts.is_being_deleted(pod):
            silent += [replace(each, pod=name) for each in _of_lines(lines.get(name, ()))]
    if silent:
        time = sentences.duration_shown(max(each.seconds for each in silent))
        yield Waiting(Cause.HANG, hangs.sentence(silent, time))


def is_watched(jobset: JSONObject) -> bool:
    """Whether the pods of a JobSet look for hangs."""
    containers = resolve.trainer_containers(jobset["spec"])
    env = (each for _, container in containers for each in container.get("env") or ())
    return any(
        each["name"] == checkpoint.VARIABLE and checkpoint.HANG in str(each.get("value"))
        for each in env
    )


def _of_lines(lines: Iterable[str]) -> list[SilentRank]:
    """The ranks of a pod that hang, by the last line that says it."""
    found = [each.partition(hangs.PREFIX)[2] for each in lines if hangs.PREFIX in each]
    try:
        said = json.loads(found[-1]) if found else []
        # A later release may say more.
        return [SilentRank(**{key: each[key] for key in _FIELDS & each.keys()}) for each in said]
    except (ValueError, TypeError, AttributeError):
        # A program may print what it likes.
        return []
