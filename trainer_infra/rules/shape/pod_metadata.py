"""pod-metadata: what others read from pods or JobSets stands in them, and not in what makes them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render import pod_metadata
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_FIELDS: Final = ("labels", "annotations")
_IN_RUNTIME: Final = "write it in spec.template"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A label or an annotation."""

    value: Value
    field: str
    key: str
    is_of_jobset: bool
    """Whether it stands in the metadata of a JobSet."""


def _places(subject: Subject) -> Iterator[_Entry]:
    written = subject.object
    places = [(written["metadata"], False)]
    if subject.kind in names.RUNTIMES:
        template = written.at("spec", "template")
        places.append((template["metadata"], True))
        jobs = template.at("spec", "replicatedJobs").items()
        places += [(each.at("template", "metadata"), False) for each in jobs]
    for metadata, is_of_jobset in places:
        for field in _FIELDS:
            for key, value in metadata[field].fields():
                yield _Entry(value, field, key, is_of_jobset)


def _check(entry: _Entry, context: Context[Parameters]) -> Iterator[Finding]:
    subject, key = context.subject, entry.key
    start = pod_metadata.PATCH if subject.kind == names.TRAIN_JOB else _IN_RUNTIME
    if pod_metadata.is_of_pods(key):
        templates = (each.template for each in pods.pods_of(subject))
        if not any(each.at("metadata", entry.field, key).is_there() for each in templates):
            fix = f"{start}.{pod_metadata.OF_POD}.{entry.field}"
            yield entry.value.finding(pod_metadata.WHAT, None, fix)
    elif pod_metadata.is_of_jobsets(key) and not entry.is_of_jobset:
        fix = f"{start}.metadata.{entry.field}"
        yield entry.value.finding(pod_metadata.WHAT_OF_JOBSETS, None, fix)


RULE: Final = Rule(
    id="pod-metadata",
    title="Labels and annotations for pods stand in pod templates",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "labels"),
    why=(
        "Service meshes, autoscalers and collectors read pods: a sidecar that was switched off "
        "runs all the same and the run never ends, or an autoscaler takes the node away."
    ),
    fix="Write it in the metadata of the pod template, of a TrainJob in spec.runtimePatches.",
    places=_places,
    check=_check,
)
