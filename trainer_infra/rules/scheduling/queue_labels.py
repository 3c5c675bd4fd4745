"""queue-labels: labels by which a job speaks to Kueue are such as Kueue takes.

Kueue's webhook of every kind of job: the queue and the prebuilt Workload are names of objects, the
longest time is a number of seconds, and JobSets and TrainJobs cannot change their size.
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api.object_meta import SUBDOMAIN_PATTERN
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole

_NAME: Final = re.compile(SUBDOMAIN_PATTERN, re.ASCII)
_SECONDS: Final = re.compile(r"\+?0*[1-9][0-9]*", re.ASCII)
_NAMES: Final = (names.KUEUE_QUEUE_LABEL, f"{names.KUEUE_GROUP}/prebuilt-workload-name")
_LONGEST_TIME: Final = f"{names.KUEUE_GROUP}/max-exec-time-seconds"
_ELASTIC: Final = f"{names.KUEUE_GROUP}/elastic-job"
_OF_ONE_SIZE: Final = (names.JOBSET, names.TRAIN_JOB)


def _check(place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    labels = place.at("metadata", "labels")
    for key in _NAMES:
        label = labels[key]
        if label.is_there() and not _NAME.fullmatch(label.text()):
            fix = "write lower-case letters, digits, - and ., or remove the label"
            yield label.finding("is no name of an object of Kueue", label.text(), fix)
    longest = labels[_LONGEST_TIME]
    if longest.is_there() and not _SECONDS.fullmatch(longest.text()):
        what = "is not a number of seconds from 1 on"
        yield longest.finding(what, longest.text(), 'write for example "3600"')
    elastic = place.at("metadata", "annotations", _ELASTIC)
    if context.subject.kind in _OF_ONE_SIZE and elastic.text() == "true":
        what = f"is for Jobs and Ray's kinds, not for a {context.subject.kind}"
        yield elastic.finding(what, elastic.text(), "remove it")


RULE: Final = Rule(
    id="queue-labels",
    title="Labels for Kueue are such as Kueue takes",
    severity=Severity.HIGH,
    kinds=WORKLOADS - names.RUNTIMES,
    tags=("scheduling", "kueue"),
    why="Kueue refuses the job.",
    fix="Name a LocalQueue as it is called, and write times in seconds.",
    places=whole,
    check=_check,
)
