"""Objects as they are written: what is put into them and shown nowhere, and why a cluster does not take one.

Pure: a refusal of the client (`kube.refusals`) becomes an error that says what to do.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import live_objects
from trainer_infra.cluster.run_store import Record
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.lifecycle import generated_secrets
from trainer_infra.runs.run import Contents, is_fixed

_NO_JOBSET: Final = (
    "the cluster does not serve JobSet; install JobSet v0.12 or newer: kubectl apply --server-side -f "
    "https://github.com/kubernetes-sigs/jobset/releases/download/v0.12.0/manifests.yaml"
)

_CONTENT: Final = ("data", "stringData", "binaryData")


def to_create(value: JSONObject, record: Record, known: Contents) -> JSONObject:
    """The object as it is created; empty (`is_empty`) where its contents are not known."""
    return generated_secrets.with_generated(
        with_contents(owned_object(value, record), record.name, known)
    )


def is_empty(value: JSONObject) -> bool:
    """Whether an object that `to_create` made lacks what should be in it."""
    if is_fixed(value):
        return not any(key in value for key in _CONTENT)
    return value["kind"] == "Secret" and None in (value.get("data") or {}).values()


def is_content(path: str) -> bool:
    """Whether a path of `drift.drifted_fields` is in what a Secret or a ConfigMap holds."""
    return path.partition(": ")[2].partition(".")[0] in _CONTENT


def owned_object(value: JSONObject, record: Record) -> JSONObject:
    """The object with what keeps the run as its controller, in the run's namespace.

    The reference does not block its owner's deletion, which nothing waits for: some clusters (OpenShift) give
    that to those alone who may update configmaps/finalizers.
    """
    metadata, holder = value["metadata"], record.value
    owner = {
        "apiVersion": holder["apiVersion"],
        "kind": holder["kind"],
        "name": holder["metadata"]["name"],
        "uid": record.holder,
        "controller": True,
    }
    namespace = metadata.get("namespace") or record.namespace
    return {**value, "metadata": {**metadata, "namespace": namespace, "ownerReferences": [owner]}}


def to_apply(value: JSONObject, record: Record, live: JSONObject, known: Contents) -> JSONObject:
    """The object as it is applied over the live one, which is ours and so are its contents.

    Keys that were made at create stay as they are; values of the job's own Secret are written as
    they are known. `spec.suspend` is not repaired: it is the user's or Kueue's.
    """
    if is_own_secret(value, record.name) and known.secret_data:
        return to_create(value, record, known)
    whole = owned_object(value, record)
    if value["kind"] == "Secret" or is_fixed(value):
        rest = {key: each for key, each in whole.items() if key not in _CONTENT}
        return rest | {key: live[key] for key in _CONTENT if key in live}
    if "suspend" in (value.get("spec") or {}):
        now = bool((live.get("spec") or {}).get("suspend"))
        return {**whole, "spec": {**whole["spec"], "suspend": now}}
    return whole


def is_own_secret(value: JSONObject, job: str) -> bool:
    """Whether the object is the job's own Secret, whose values the user gave."""
    wanted = ("Secret", f"{job}{names.SECRET_SUFFIX}")
    return (value["kind"], value["metadata"]["name"]) == wanted


def with_contents(value: JSONObject, job: str, known: Contents) -> JSONObject:
    """The object with what is known to be in it; None stands for a value that is not.

    Values of a Secret go into `data`: what server-side apply makes of `stringData` cannot be taken
    back.
    """
    if is_fixed(value):
        name = value["metadata"]["name"]
        found = (each for each in known.config_maps if each["metadata"]["name"] == name)
        original = next(found, {})
        return {**value, **{key: original[key] for key in _CONTENT if key in original}}
    if not is_own_secret(value, job):
        return value
    rest = {key: each for key, each in value.items() if key != "stringData"}
    texts = {key: known.secret_data.get(key) for key in value.get("stringData") or {}}
    data = {
        key: None if text is None else base64.b64encode(text.encode()).decode()
        for key, text in texts.items()
    }
    return {**rest, "data": data}


@contextmanager
def explained(value: JSONObject) -> Iterator[None]:
    """Raise, in place of a refusal of an object that is written, the error that explains it."""
    try:
        yield
    except (refusals.Answer, refusals.NotServed) as error:
        raise explain_refusal(error, value) from error


def explain_refusal(
    error: refusals.Answer | refusals.NotServed, value: JSONObject
) -> TrainerInfraError:
    """The error to raise in place of a refusal of an object."""
    where = live_objects.object_shown(value)
    if isinstance(error, refusals.NotServed):
        if error.api_version.partition("/")[0] == names.JOBSET_API_VERSION.partition("/")[0]:
            return NotAvailable(_NO_JOBSET)
        return error
    if isinstance(error, refusals.NotFound):
        return _not_found(error, where, value["metadata"].get("namespace", ""))
    if isinstance(error, refusals.Invalid):
        return _invalid(error, where)
    return Refused(_sentence(error, where))


def _not_found(error: refusals.NotFound, where: str, namespace: str) -> TrainerInfraError:
    if "namespaces" in error.message:
        return NotAvailable(
            f"namespace {namespace} does not exist, so {where} cannot be made; create it, for "
            f"example with `kubectl create namespace {namespace}`, or name another one"
        )
    if where.startswith(names.JOBSET):
        return NotAvailable(_NO_JOBSET)
    return NotAvailable(f"{where} cannot be made: {error.message}")


def _invalid(error: refusals.Invalid, where: str) -> TrainerInfraError:
    if not error.problems:
        return Refused(f"{where} is refused by the cluster: {error.message}")
    # Beside the causes the server may say that it looked no further.
    of_fields = [each for each in error.problems if each.path not in ("", "<nil>")]
    return InvalidInput(
        Problem(each.path, each.what, each.got, each.fix, where)
        for each in of_fields or error.problems
    )


def _sentence(error: refusals.Answer, where: str) -> str:
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
    if error.status == HTTPStatus.INTERNAL_SERVER_ERROR and "webhook" in message:
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
