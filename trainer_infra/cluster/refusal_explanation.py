"""What to tell a user when the API server does not take an object: one sentence, and what to do.

Pure: a refusal of the client (`kube.refusals`) in, an error of ours out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import live_objects
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.kube.refusals import Answer, Invalid, NotFound, NotServed

_INTERNAL: Final = 500

INSTALL_JOBSET: Final = (
    "install JobSet v0.12 or newer: kubectl apply --server-side -f "
    "https://github.com/kubernetes-sigs/jobset/releases/download/v0.12.0/manifests.yaml"
)


@contextmanager
def explained(value: JSONObject) -> Iterator[None]:
    """Raise, in place of a refusal of an object that is written, the error that explains it."""
    try:
        yield
    except (Answer, NotServed) as error:
        raise explain_refusal(error, value) from error


def explain_refusal(error: Answer | NotServed, value: JSONObject) -> TrainerInfraError:
    """The error to raise in place of a refusal of an object."""
    where = live_objects.object_shown(value)
    if isinstance(error, NotServed):
        if error.api_version.partition("/")[0] == names.JOBSET_API_VERSION.partition("/")[0]:
            return NotAvailable(f"the cluster does not serve JobSet; {INSTALL_JOBSET}")
        return error
    if isinstance(error, NotFound):
        return _not_found(error, where, value["metadata"].get("namespace", ""))
    if isinstance(error, Invalid):
        return _invalid(error, where)
    return Refused(_sentence(error, where))


def _not_found(error: NotFound, where: str, namespace: str) -> TrainerInfraError:
    if "namespaces" in error.message:
        return NotAvailable(
            f"namespace {namespace} does not exist, so {where} cannot be made; create it, for "
            f"example with `kubectl create namespace {namespace}`, or name another one"
        )
    if where.startswith(names.JOBSET):
        return NotAvailable(f"the cluster does not serve JobSet; {INSTALL_JOBSET}")
    return NotAvailable(f"{where} cannot be made: {error.message}")


def _invalid(error: Invalid, where: str) -> TrainerInfraError:
    if not error.problems:
        return Refused(f"{where} is refused by the cluster: {error.message}")
    # Beside the causes the server may say that it looked no further.
    of_fields = [each for each in error.problems if each.path not in ("", "<nil>")]
    return InvalidInput(
        Problem(each.path, each.what, each.got, each.fix, where)
        for each in of_fields or error.problems
    )


def _sentence(error: Answer, where: str) -> str:
    message = error.message
    if isinstance(error, refusals.Unauthorized):
        return f"{where} cannot be written: the cluster does not know the user; sign in again"
    if isinstance(error, refusals.TooLarge):
        return (
            f"{where} is larger than the cluster takes ({message}); mount large files from a "
            "volume, or build them into the image"
        )
    if isinstance(error, refusals.Conflict):
        return f"{where} was changed by another writer meanwhile: {message}; try again"
    if isinstance(error, refusals.Forbidden):
        return _forbidden(message, where)
    if error.status == _INTERNAL and "webhook" in message:
        return (
            f"{where} cannot be written, a webhook of the cluster fails: {message}; repair it, or "
            "ask who runs the cluster (`kubectl get validatingwebhookconfigurations,"
            "mutatingwebhookconfigurations` names them)"
        )
    return f"{where} is refused by the cluster: {message}"


def _forbidden(message: str, where: str) -> str:
    if "quota" in message:
        return f"{where} is refused by a quota: {message}; ask for less, or end what is finished"
    if "admission webhook" in message:
        return f"{where} is refused by an admission webhook: {message}"
    return (
        f"{where} may not be written by this account: {message}; ask for the Roles of "
        "docs/kubernetes.md, Rights"
    )
