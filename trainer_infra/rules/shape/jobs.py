"""The replicated jobs of a runtime or JobSet, as the rules of this group read them."""

from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.render import resolve
from trainer_infra.rules import pods
from trainer_infra.rules.value import Value

IN_RUNTIME: Final[Path] = ("spec", "template", "spec", "replicatedJobs")
CONTAINERS: Final = {names.TRAINER: names.NODE} | {each: each for each in pods.INITIALIZERS}
"""The container that a job must have, by its ancestor label."""


def step_label(job: Value) -> Value:
    """The label that says which step of a TrainJob a replicated job is."""
    return job.at(*resolve.ANCESTOR_PATH)


def pod_spec(job: Value) -> Value:
    """The PodSpec of a replicated job."""
    return job.at("template", "spec", "template", "spec")


def item_named(items: Value, name: str) -> Value | None:
    """The item of that name in a list; None where there is none.

    Raises:
        UnseenValue: The list or the name of an item is not known.
    """
    found = items.items() if items.is_there() else ()
    return next((each for each in found if each["name"].text() == name), None)


def name_one(items: Value) -> str:
    """Advice where a name is none of the jobs'.

    Raises:
        UnseenValue: The name of one is not known.
    """
    known = [each["name"].text() for each in items.items()]
    return f"name {' or '.join(known[:3])}" if known else "add the job"
