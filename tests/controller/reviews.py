"""Admission reviews for the tests of this folder, and the answers to them."""

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

from tests.fake_api_server.memory import Memory
from trainer_infra import catalog
from trainer_infra.controller import admission_review
from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.render.behaviour import OURS, Behaviour

JSON = dict[str, Any]
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
TORCH = catalog.get("torch-distributed").to_wire()


@dataclass
class World:
    """What is in the cluster, and the behaviour that decides."""

    objects: tuple[JSON, ...] = (TORCH,)
    behaviour: Behaviour = field(default_factory=lambda: OURS)

    def answer(self, path: str, value: Any, old: Any = None, **request: Any) -> JSON:
        """The response to a create, or to an update where there is an old object."""
        response: JSON = asyncio.run(self._answer(path, review(value, old, **request)))["response"]
        assert response["uid"] == UID
        return response

    async def _answer(self, path: str, body: bytes) -> JSON:
        client = Memory()
        for each in self.objects:
            await client.create(each, manager="test")
            if "status" in each:
                await client.patch_status(each, manager="test")
        judge = AdmissionJudge(ClusterLookups(client), self.behaviour)
        return await answered(judge, path, body)


async def answered(judge: AdmissionJudge, path: str, body: bytes) -> JSON:
    """The review that answers a review, read back."""
    request = admission_review.read_review(body)
    response = await judge.response(path, request)
    written: JSON = json.loads(admission_review.write_review(request.uid, response))
    return written


def review(value: Any, old: Any = None, **request: Any) -> bytes:
    """A review as the API server sends it."""
    whole = {
        "uid": UID,
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "default",
        "object": value,
        "oldObject": old,
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    ).encode()


def patch_of(response: JSON) -> list[JSON]:
    """The JSON patch of a response."""
    assert response.get("patchType", "JSONPatch") == "JSONPatch"
    found: list[JSON] = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return found


def trainjob(spec: JSON | None = None, **metadata: Any) -> JSON:
    """A TrainJob on torch-distributed."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "default", "uid": "u-1", **metadata},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, **(spec or {})},
    }


def patched(manager: str = "acme.io/x", time: str | None = None, **pod: Any) -> JSON:
    """A runtime patch of the pods of the job `node`."""
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    found = {
        "manager": manager,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    return found if time is None else {**found, "time": time}
