"""A ValidatingAdmissionPolicy that refuses to write JobSets of one namespace."""

from http import HTTPStatus
from typing import Final

from tests.conformance import objects
from tests.conformance.places import Place

_API: Final = "/apis/admissionregistration.k8s.io/v1"
_POLICIES: Final = f"{_API}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_API}/validatingadmissionpolicybindings"


def refuse(place: Place, operation: str, message: str) -> None:
    """Refuse `CREATE`, or `DELETE` of JobSet `a`, with that message; return once that is so."""
    rules = {
        "apiGroups": ["jobset.x-k8s.io"],
        "apiVersions": ["*"],
        "resources": ["jobsets"],
        "operations": [operation],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place.name}}
    name = {"metadata": {"name": place.name}}
    constraints = {"resourceRules": [rules], "namespaceSelector": selector}
    refusal = {"expression": "false", "message": message}
    policy = {"matchConstraints": constraints, "validations": [refusal]}
    binding = {"policyName": place.name, "validationActions": ["Deny"]}
    client = place.manager.client
    for path, spec in ((_POLICIES, policy), (_BINDINGS, binding)):
        assert client.create(path, {**name, "spec": spec}).message == ""
    place.until(lambda: message in _refusal(place, operation))


def allow(place: Place, operation: str) -> None:
    """Take the policy away, and return once that is so."""
    place.manager.client.delete(f"{_BINDINGS}/{place.name}")
    place.until(lambda: not _refusal(place, operation))


def _refusal(place: Place, operation: str) -> str:
    """Why it would be refused; nothing is done."""
    if operation == "DELETE":
        answer = place.manager.client.delete(place.path("JobSet", "a") + "?dryRun=All")
        # What a manager has deleted in the meantime is not refused any more.
        return answer.message if answer.status != HTTPStatus.NOT_FOUND else ""
    spec = {"replicatedJobs": [objects.job()]}
    probe = {"kind": "JobSet", "metadata": {"name": "probe"}, "spec": spec}
    return place.submit(probe, dryRun="All").message
