"""What training said about itself without a server to say it to: `report`'s lines and last words.

A report is a line of the log that has `names.REPORT_PREFIX`, and the last one is what the container
left as its termination message. Pure.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.json_values import JSONObject
from trainer_infra.progress import validation
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run

SHOWN: Final = 2
"""Metrics of a line: a terminal is narrow."""
_LABEL: Final = re.compile(r"\s*(\[[^\]]*\]:?\s*)*")
"""What torchrun and mpirun put before a line: the rank that wrote it."""
HOOK_FAILED: Final = "PostStartHookError"
"""Reason for which a container waits, whose message quotes what its hook printed."""


def of_lines(lines: Iterable[str]) -> JSONObject | None:
    """The trainerStatus of the last report among lines of a log."""
    found: JSONObject | None = None
    for line in lines:
        found = of_line(line) or found
    return found


def of_line(line: str) -> JSONObject | None:
    """The trainerStatus of a line that is a report; None of another line."""
    _, prefix, text = line.partition(names.REPORT_PREFIX)
    return _status(text) if prefix else None


def of_pod(pod: JSONObject) -> JSONObject | None:
    """The trainerStatus that a container of the pod left when it ended."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        for state in (each.get("state"), each.get("lastState")):
            message = ((state or {}).get("terminated") or {}).get("message") or ""
            if (found := _status(message)) is not None:
                return found
    return None


def by_pod(
    pods: Iterable[JSONObject], lines: Mapping[str, tuple[str, ...]]
) -> dict[str, JSONObject]:
    """The last report of each pod: its last words, else the last one in the last lines of its log."""
    found: dict[str, JSONObject] = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        report = of_pod(pod) or of_lines(lines.get(name, ()))
        if report is not None:
            found[name] = report
    return found


def newest_report(reports: Iterable[JSONObject]) -> JSONObject | None:
    """The report that was made last; of several at the same second the first."""
    found: JSONObject | None = None
    for each in reports:
        if found is None or each["lastUpdatedTime"] > found["lastUpdatedTime"]:
            found = each
    return found


def without_reports(lines: Iterable[str]) -> list[str]:
    """The lines that are no reports; of a report the progress bar before it, which had no line end.

    Nor those that say which ranks hang, which has been said for people before.
    """
    kept = (line for line in lines if not line.startswith(hangs.PREFIX))
    found = (line.partition(names.REPORT_PREFIX) for line in kept)
    return [before for before, prefix, _ in found if not prefix or not _LABEL.fullmatch(before)]


def without_last_words(pod: JSONObject) -> JSONObject:
    """The pod without reports in termination messages, which say nothing of why it ended."""
    return _with_messages(
        pod, lambda said: "" if _status(said) else "\n".join(without_reports(said.splitlines()))
    )


def with_reports_alone(pod: JSONObject) -> JSONObject:
    """The pod without messages that quote a program, which may print anything, but for reports."""
    return _with_messages(pod, lambda said: said if _status(said) else "")


def _with_messages(pod: JSONObject, message: Callable[[str], str]) -> JSONObject:
    """The pod with other messages where they quote a program: of its end, and of a failed hook."""
    status = dict(pod.get("status") or {})
    for kind in ("initContainerStatuses", "containerStatuses"):
        if kind in status:
            status[kind] = [_with_message(each, message) for each in status[kind]]
    return {**pod, "status": status}


def _with_message(container: JSONObject, message: Callable[[str], str]) -> JSONObject:
    result = dict(container)
    for key in ("state", "lastState"):
        for kind, state in (container.get(key) or {}).items():
            quotes = kind == "terminated" or state.get("reason") == HOOK_FAILED
            if quotes and "message" in state:
                result[key] = {kind: {**state, "message": message(state["message"])}}
    return result


def _status(text: str) -> JSONObject | None:
    """The trainerStatus at the beginning of a text; None when there is none that is valid.

    What follows it is left out: several processes of a pod overwrite one file.
    """
    if not text.startswith("{"):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        found = validation.decode_status(json.dumps({"trainerStatus": value}).encode())
    except ValueError:
        return None
    return None if found is None or validation.status_problem("", found) else found


def metric_spans(runs: Mapping[str, Run]) -> str:
    """`accuracy 0.71 (lr-1) to 0.93 (lr-0.1)`, least and most of a sweep; empty where no two runs differ.

    Which of the two is the better one, only the program knows. Of the members that ended well, by name.
    """
    values: dict[str, dict[str, float]] = {}
    for member, run in runs.items():
        for metric, text in sentences.last_metrics(run).items():
            number = sentences.number_of(text)
            if number is not None and metric != names.SAMPLES_PER_SECOND:
                values.setdefault(metric, {})[member] = number
    spans = []
    for metric, each in values.items():
        least, most = (choose(each, key=lambda name: each[name]) for choose in (min, max))
        if each[least] != each[most]:
            shown = (f"{sentences.number_shown(each[one])} ({one})" for one in (least, most))
            spans.append(f"{metric} {' to '.join(shown)}")
    return ", ".join(spans[:SHOWN])
