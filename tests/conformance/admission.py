"""How a webhook's refusal reads.

Ours may say behind each mistake what to do about it (Deviation.ADVICE); that text is not tried here.
"""

import re
from dataclasses import dataclass
from typing import Final

from from_source.cluster.client import Answer
from tests.conformance.places import Place
from trainer_infra.render.deviation import Deviation

TRAIN_JOB: Final = "validator.trainjob.trainer.kubeflow.org"
RUNTIME: Final = "validator.trainingruntime.trainer.kubeflow.org"
CLUSTER_RUNTIME: Final = "validator.clustertrainingruntime.trainer.kubeflow.org"
"""Names of webhooks."""

KINDS: Final = {
    "clustertrainingruntimes.trainer.kubeflow.org": "ClusterTrainingRuntime.trainer.kubeflow.org",
    "trainingruntimes.trainer.kubeflow.org": "TrainingRuntime.trainer.kubeflow.org",
    "priorityclasses.scheduling.k8s.io": "PriorityClass.scheduling.k8s.io",
}
"""How an API server says what it does not find -> how the cache of the reference says it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One mistake: the field and why; Kubernetes writes the value between them."""

    field: str
    detail: str
    """Empty where only ours refuses, in words that are not tried here."""
    kind: str = "Invalid value"

    @property
    def pattern(self) -> str:
        value = "" if self.kind == "Forbidden" else ".*: "
        if not self.detail:
            value = ".+"
        return f"{re.escape(self.field)}: {self.kind}: {value}{re.escape(self.detail)}"


def forbidden(field: str, detail: str) -> Refusal:
    """A mistake that has no value."""
    return Refusal(field, detail, "Forbidden")


def assert_refused(place: Place, answer: Answer, webhook: str, *mistakes: Refusal) -> None:
    """The webhook refused with these mistakes and no others, in this order."""
    said = answer.message.removeprefix(f'admission webhook "{webhook}" denied the request: ')
    assert (answer.status, said != answer.message) == (403, True), answer.message
    for resource, kind in KINDS.items():
        said = said.replace(f' {resource} "', f' {kind} "')
    advises = Deviation.ADVICE in place.manager.implementation.deviations
    advice = "(?:; .+?)?" if advises else ""
    together = ", ".join(each.pattern + advice for each in mistakes)
    pattern = together if len(mistakes) == 1 else rf"\[{together}\]"
    assert re.fullmatch(pattern, said, re.DOTALL), said
    kinds = len(re.findall(r": (?:Invalid value|Forbidden): ", said))
    assert kinds == len(mistakes), said
