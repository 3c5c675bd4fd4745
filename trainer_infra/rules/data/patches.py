"""Patches of a TrainJob that are not known are left out of what it renders to.

Rules that conclude from what pods lack ask here first: the patch may be what gives it to them.
"""

from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Unseen


def be_known(subject: Subject) -> None:
    """Goes on where all patches of the pods are known.

    Raises:
        Unseen: One is not.
    """
    for path in subject.unseen:
        if path[:2] == ("spec", "runtimePatches"):
            raise Unseen(path)
