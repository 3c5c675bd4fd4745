"""An `up` ends when what it made works, or says what it waits for; alike with both plugins."""

import time
from contextlib import suppress
from typing import Any

import pytest

from tests.contract.kubernetes_plugin.conftest import Objects
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import Resource

DEPLOYMENT = Resource("apps/v1", "Deployment", "deployments")
WIDGETS = """
definition = k8s.apiextensions.v1.CustomResourceDefinition(
    "widgets",
    metadata={{"name": "widgets.{group}"}},
    spec={{
        "group": "{group}", "scope": "Namespaced",
        "names": {{"plural": "widgets", "singular": "widget", "kind": "Widget"}},
        "versions": [{{"name": "v1", "served": True, "storage": True, "schema": {{"openAPIV3Schema": {{
            "type": "object", "properties": {{"spec": {{"type": "object", "properties": {{
                "size": {{"type": "integer"}}}}}}}}}}}}}}],
    }},
    opts=there,
)
widget = k8s.apiextensions.CustomResource(
    "widget", api_version="{group}/v1", kind="Widget", metadata=meta("one"), spec={spec},
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[definition]),
)
"""
DEPLOYED = """
labels = {"app": "a"}
k8s.apps.v1.Deployment(
    "a", metadata=meta("a", annotations={annotations}),
    spec={"selector": {"matchLabels": labels}, "template": {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
    opts=there,
)
"""


@pytest.mark.soak
def test_a_kind_and_an_object_of_it_come_in_one_up(objects: Objects, namespace: str) -> None:
    program = WIDGETS.format(group=f"{namespace}.example.com", spec={"size": 3})
    objects.up(program)
    objects.stack.unchanged()
    objects.stack.run("destroy", "--yes", "--skip-preview")


@pytest.mark.soak
def test_a_field_that_the_kind_does_not_have_is_refused_by_a_preview(
    objects: Objects, namespace: str
) -> None:
    group = f"{namespace}.example.com"
    objects.up(WIDGETS.format(group=group, spec={"size": 3}))
    objects.program(WIDGETS.format(group=group, spec={"sise": 3}))

    assert "sise" in objects.stack.preview(ok=False)


@pytest.mark.soak
def test_a_deployment_is_awaited(objects: Objects, client: KubeClient, namespace: str) -> None:
    objects.program(DEPLOYED.replace("{annotations}", "{}"))
    running = objects.stack.start("up", "--yes", "--skip-preview")
    _set_status(client, namespace, {"replicas": 1})
    time.sleep(2)
    assert running.poll() is None
    done = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    _set_status(client, namespace, {**done, "conditions": [
        {"type": each, "status": "True", "reason": "NewReplicaSetAvailable"}
        for each in ("Available", "Progressing")
    ]})  # fmt: skip
    output, _ = running.communicate(timeout=600)

    assert running.returncode == 0, output
    objects.stack.unchanged()


def test_what_is_not_ready_in_time_is_said_and_kept_in_the_state(objects: Objects) -> None:
    impatient = '{"pulumi.com/timeoutSeconds": "2"}'
    printed = objects.up(DEPLOYED.replace("{annotations}", impatient), ok=False)
    (kept,) = objects.stack.resources("Deployment")

    assert "Deployment" in printed
    assert kept["initErrors"]
    objects.up(DEPLOYED.replace("{annotations}", '{"pulumi.com/skipAwait": "true"}'))
    objects.stack.run("destroy", "--yes", "--skip-preview")


def _set_status(client: KubeClient, namespace: str, status: dict[str, Any]) -> None:
    """What the Deployment controller would say, once the Deployment is there."""
    while True:
        with suppress(NotFound):
            there = run_in_loop(client.get(DEPLOYMENT, "a", namespace))
            break
        time.sleep(0.1)
    value = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": namespace},
        "status": {"observedGeneration": there["metadata"]["generation"], **status},
    }
    run_in_loop(client.patch_status(value, manager="controller"))


SLICE = Resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
WAITS = """
widget = k8s.apiextensions.CustomResource(
    "widget", api_version="{group}/v1", kind="Widget",
    metadata=meta("one", annotations={{"pulumi.com/waitFor": {expression!r}}}), spec={{"size": 3}},
    opts=there,
)
"""
WEBHOOK = """
k8s.admissionregistration.v1.ValidatingWebhookConfiguration(
    "hook", metadata={"name": NAMESPACE}, opts=there,
    webhooks=[{
        "name": "judge.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore", "rules": [],
        "clientConfig": {"service": {"namespace": NAMESPACE, "name": "judge"}},
    }],
)
"""
SERVICE = """
k8s.core.v1.Service("judge", metadata=meta("judge"), opts=there,
                    spec={"selector": {"app": "judge"}, "ports": [{"port": 443}]})
"""


def test_a_service_is_awaited_until_it_has_an_endpoint(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    objects.program(SERVICE)
    running = objects.stack.start("up", "--yes", "--skip-preview")
    time.sleep(5)
    assert running.poll() is None
    metadata = {"name": "judge-1", "namespace": namespace}
    labels = {"labels": {"kubernetes.io/service-name": "judge"}}
    value = {
        "apiVersion": SLICE.api_version,
        "kind": SLICE.kind,
        "metadata": {**metadata, **labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True},
                       "targetRef": {"kind": "Pod", "name": "judge", "namespace": namespace}}],
        "ports": [{"port": 443}],
    }  # fmt: skip
    run_in_loop(client.apply(value, manager="controller"))
    output, _ = running.communicate(timeout=600)

    assert running.returncode == 0, output
    objects.program(SERVICE + WEBHOOK)
    objects.stack.up()
    objects.stack.unchanged()


@pytest.mark.soak
def test_an_object_is_awaited_as_its_annotation_says(objects: Objects, namespace: str) -> None:
    group = f"{namespace}.example.com"
    definition = WIDGETS.format(group=group, spec={"size": 3}).partition("widget = ")[0]
    objects.up(definition)
    has_size = definition + WAITS.format(group=group, expression="jsonpath={.spec.size}=3")
    objects.up(has_size)
    objects.stack.unchanged()
    never = WAITS.format(group=group, expression="jsonpath={.spec.size}=4").replace(
        "annotations={", 'annotations={"pulumi.com/timeoutSeconds": "2", '
    )

    assert "Widget" in objects.up(definition + never, ok=False)
