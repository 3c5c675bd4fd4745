"""image-present: every container has an image."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity
from trainer_infra.rules.shape import jobs


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    image, kind = place.value["image"], context.subject.kind
    if image.is_there() and image.raw != "":
        return
    name = place.value["name"].text()
    trains = jobs.step_label(place.pod.job).text() == names.TRAINER and place.is_node
    if trains and kind == names.TRAIN_JOB:
        image = context.subject.object.at("spec", "trainer", "image")
    if not (trains and kind in names.RUNTIMES) and not image.text():
        yield image.finding("is missing", None, f"name the image of container {name!r}")


RULE: Final = Rule(
    id="image-present",
    title="Every container has an image",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {"Pod", "Job", "CronJob"},
    tags=("shape", "images"),
    why=(
        "The schemas leave the image out for templates, so the object is taken; the API server then "
        "refuses each of its pods, and the job waits for ever."
    ),
    fix="Name an image in the container, or in spec.trainer.image for the nodes that train.",
    places=pods.containers,
    check=_check,
)
