"""Patches of a TrainJob: what they may say of its pods, and where they would say it."""

from trainer_infra import names
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.value import UnseenValue


def be_known(subject: Subject) -> None:
    """Goes on where all patches of the pods are known.

    Those that are not are left out of what a TrainJob renders to. Rules that conclude from what pods
    lack ask here first: the patch may be what gives it to them.

    Raises:
        UnseenValue: One is not.
    """
    for path in (*subject.unseen, *subject.left_out):
        if path[:2] == ("spec", "runtimePatches"):
            raise UnseenValue(path)


def place(value: Value, subject: Subject) -> Value:
    """The value, or where a TrainJob patches its pods if its own object does not say it."""
    if subject.kind == names.TRAIN_JOB and value.is_inherited():
        return subject.object.at("spec", "runtimePatches")
    return value
