"""Which runtimes TrainJobs of a workspace may name: a policy of the API server itself.

A ValidatingAdmissionPolicy (Kubernetes 1.30) judges what is created. What is updated has the runtime that it
was created with: Trainer's own definition lets no update change it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import NAME, shape_problems
from trainer_infra.platform.workspaces.namespace import own_namespace
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES

_API: Final = "admissionregistration.k8s.io/v1"


def runtime_policy_objects(namespace: str, runtimes: Sequence[str]) -> Iterator[JSONObject]:
    """The policy, and its binding to the namespace; runtimes are named as in `WorkspaceArgs`."""
    name = f"trainer-infra-runtimes.{namespace}"
    group, _, version = names.API_VERSION.partition("/")
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": ["CREATE"],
        "resources": ["trainjobs"],
    }
    # JSON's texts and lists are CEL's as well.
    kind = names.CLUSTER_TRAINING_RUNTIME
    allowed = json.dumps([each if "/" in each else f"{kind}/{each}" for each in runtimes])
    refused = f"namespace {namespace} allows the runtimes {', '.join(runtimes)}, not "
    shown = "object.spec.runtimeRef.kind + '/' + object.spec.runtimeRef.name"
    validation = {
        "expression": f"({shown}) in {allowed}",
        "messageExpression": f"{json.dumps(refused)} + {shown}",
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [validation],
    }
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": own_namespace(namespace)},
    }
    yield _object("ValidatingAdmissionPolicy", name, spec)
    yield _object("ValidatingAdmissionPolicyBinding", name, binding)


def runtime_problems(runtimes: Sequence[str]) -> Iterator[Problem]:
    """Names that no runtime can have."""
    fix = f"write {EXAMPLES['runtimes']}"
    if not runtimes:
        what = "allows no runtime at all"
        yield Problem("runtimes", what, fix="name one, or leave runtimes out to allow all")
    for each in runtimes:
        kind, slash, name = each.rpartition("/")
        if slash and kind not in names.RUNTIMES:
            yield Problem("runtimes", "is not a runtime", got=each, fix=fix)
        else:
            yield from shape_problems(("runtimes",), name, NAME)


def _object(kind: str, name: str, spec: JSONObject) -> JSONObject:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}
