"""The service account of a pod, and whether its token is mounted."""

from typing import Final

from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Subject, Value, World

DEFAULT: Final = "default"
"""The account that every namespace has and every pod gets that names none."""
_KIND: Final = "ServiceAccount"
_AUTOMOUNT: Final = "automountServiceAccountToken"


def name(pod: Pod) -> str:
    """The account's name; a pod may have it in a field of an older name."""
    spec = pod.spec
    return spec["serviceAccountName"].text() or spec["serviceAccount"].text() or DEFAULT


def automount(pod: Pod) -> Value:
    """Where the pod says whether the token is mounted."""
    return pod.spec[_AUTOMOUNT]


def mounts_token(pod: Pod, subject: Subject, world: World) -> bool:
    """Whether the token is mounted: what the pod says, else its account, else it is."""
    if automount(pod).is_there():
        return automount(pod).flag() is not False
    account = world.get(_KIND, name(pod), subject.namespace)
    return account is None or account.object[_AUTOMOUNT].flag() is not False
