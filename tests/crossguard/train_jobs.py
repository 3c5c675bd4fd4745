"""A pack that is asked about TrainJobs of our resource, as the engine sends them."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto.analyzer_pb2 import (
    AnalyzeRequest,
    AnalyzerResource,
    AnalyzeStackRequest,
)

from trainer_infra import catalog
from trainer_infra.crossguard import policy_pack
from trainer_infra.crossguard.server import Servicer
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.pack import Pack

JSON = dict[str, Any]
KIND = "pulumi-python:trainer:TrainJob"


def servicer(pack: Pack) -> Servicer:
    settled = ResolvedConfiguration(pack, (), (), is_whole=False)
    return Servicer(pack.name, list(policy_pack.policies_of_pack(settled)))


def train_job(name: str, target: str, trainer: JSON | None = None) -> JSON:
    """What the engine sends of a TrainJob on `torch-distributed`."""
    properties = Struct()
    properties.update(
        {
            "name": name,
            "namespace": "team",
            "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer or {}},
            "runtime": catalog.get("torch-distributed").to_wire(),
            "target": target,
        }
    )
    return {"type": KIND, "properties": properties, "urn": f"urn:{name}", "name": name}


def said(asked: Servicer, sent: JSON) -> list[tuple[str, str]]:
    """What is said of a resource: policies and messages without their titles."""
    answer = asked.Analyze(AnalyzeRequest(**sent), None)
    return [(each.policyName, each.message.partition("\n")[2]) for each in answer.diagnostics]


def said_of_stack(asked: Servicer, sent: Iterable[JSON]) -> list[tuple[str, str, str]]:
    """What is said of a stack: policies, URNs and messages without their titles."""
    request = AnalyzeStackRequest(resources=[AnalyzerResource(**each) for each in sent])
    answer = asked.AnalyzeStack(request, None)
    return [
        (each.policyName, each.urn, each.message.partition("\n")[2]) for each in answer.diagnostics
    ]
