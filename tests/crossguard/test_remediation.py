"""What a policy mends of a resource in which a value is not known yet."""

from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto.analyzer_pb2 import (
    AnalyzeRequest,
    AnalyzerResource,
    AnalyzeStackRequest,
    ConfigureAnalyzerRequest,
    EnforcementLevel,
    PolicyConfig,
)

from trainer_infra import catalog
from trainer_infra.api.input import UNKNOWN
from trainer_infra.crossguard import policy_pack
from trainer_infra.crossguard.server import Servicer
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.pack import Enforcement, Pack, Selection, Setting

JSON = dict[str, Any]

MENDS = Pack(
    "acme",
    selection=Selection(ids=()),
    settings={"privileged": Setting(enforcement=Enforcement.REMEDIATE)},
)
OWNER = {"project": "p", "stack": "s", "urn": "urn:1"}


def runtime() -> JSON:
    """A runtime whose container is privileged and has an image that is not known."""
    wire = dict(catalog.get("jax-distributed").to_wire())
    container(wire)["securityContext"] = {"privileged": True}
    container(wire)["image"] = UNKNOWN
    return wire


def container(wire: JSON) -> JSON:
    pod = wire["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    found: JSON = pod["spec"]["containers"][0]
    return found


def resource(wire: JSON) -> JSON:
    """The inputs of our resource for it."""
    given = {key: wire[key] for key in ("kind", "spec")}
    return {**given, "name": "mine", "target": "kubernetes", "owner": OWNER, "rendered": None}


def servicer(pack: Pack = MENDS) -> Any:
    settled = ResolvedConfiguration(pack, (), (), is_whole=False)
    return Servicer("acme", list(policy_pack.policies_of_pack(settled)))


def asked(kind: str, properties: JSON) -> AnalyzeRequest:
    sent = Struct()
    sent.update(properties)
    return AnalyzeRequest(type=kind, properties=sent, urn="urn:1", name="mine")


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime", runtime()),
        ("pulumi-python:trainer:ClusterRuntime", resource(runtime())),
    ],
)
def test_it_is_mended_and_the_value_stays_unknown(kind: str, properties: JSON) -> None:
    answer = servicer().Remediate(asked(kind, properties), None)

    [mended] = answer.remediations
    assert mended.policyName == "privileged"
    expected = resource(runtime()) if "pulumi-python" in kind else runtime()
    container(expected)["securityContext"]["privileged"] = False
    assert MessageToDict(mended.properties) == expected


WRAPPER = "kubernetes:workload.codeflare.dev/v1beta2:AppWrapper"


def wrapper() -> JSON:
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "w", "namespace": "vision"},
        "spec": {"components": [{"template": runtime()}]},
    }


def test_an_object_that_stands_in_another_is_mended_and_said_with_its_place() -> None:
    [mended] = servicer().Remediate(asked(WRAPPER, wrapper()), None).remediations
    expected = wrapper()
    inner = expected["spec"]["components"][0]["template"]
    container(inner)["securityContext"]["privileged"] = False
    assert MessageToDict(mended.properties) == expected
    [said] = [
        each
        for each in servicer().Analyze(asked(WRAPPER, wrapper()), None).diagnostics
        if each.policyName == "privileged"
    ]
    assert "\nspec.components[0].template: spec.template.spec." in said.message


def test_what_is_no_object_of_kubernetes_is_not_judged() -> None:
    release = {"chart": "x", "values": {"hostPID": True, "securityContext": {"privileged": True}}}
    kind = "kubernetes:helm.sh/v3:Release"
    answer = servicer(Pack("all")).Analyze(asked(kind, release), None)
    assert list(answer.diagnostics) == []


def test_what_was_not_mended_stops_the_deployment() -> None:
    kind = "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime"
    [said] = [
        each
        for each in servicer().Analyze(asked(kind, runtime()), None).diagnostics
        if each.policyName == "privileged"
    ]
    assert said.enforcementLevel == EnforcementLevel.MANDATORY
    assert "securityContext.privileged: " in said.message


def left(pack: Pack, configured: JSON | None = None) -> list[tuple[str, int]]:
    """What is said of a stack in which the engine has lost what was mended: policies and levels."""
    asked_of = servicer(pack)
    if configured is not None:
        asked_of.Configure(ConfigureAnalyzerRequest(policyConfig=configured), None)
    sent = Struct()
    sent.update(runtime())
    kind = "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime"
    resources = [AnalyzerResource(type=kind, properties=sent, urn="urn:1", name="mine")]
    answer = asked_of.AnalyzeStack(AnalyzeStackRequest(resources=resources), None)
    return [(each.policyName, each.enforcementLevel) for each in answer.diagnostics]


STOPPED = [("privileged-deployed", EnforcementLevel.MANDATORY)]


def test_what_the_engine_loses_of_a_mended_resource_stops_the_deployment() -> None:
    assert left(MENDS) == STOPPED


def test_it_does_so_where_pulumis_own_configuration_mends() -> None:
    judges = Pack("acme", selection=Selection(ids=("privileged",)))
    mends = PolicyConfig(enforcementLevel=EnforcementLevel.REMEDIATE)
    assert left(judges) == []
    assert left(judges, {"privileged": mends}) == STOPPED
    advises = PolicyConfig(enforcementLevel=EnforcementLevel.ADVISORY)
    assert left(MENDS, {"privileged": advises}) == []
