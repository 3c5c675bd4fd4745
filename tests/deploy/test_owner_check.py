"""Whose installation a cluster has, by the real CLI on a real API server that lets objects be taken over."""

import re
from dataclasses import replace

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.deploy.project import Stack
from tests.kube.real_client import client
from trainer_infra.deploy.operations.owner_check import COMPONENT
from trainer_infra.kube import loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.resource import CONFIG_MAP, NAMESPACE

__all__ = ["client"]
PROGRAM = """
from pulumi_kubernetes.core.v1 import ConfigMap
from trainer_infra.deploy.destroy_guard_resource import DestroyGuard
from trainer_infra.deploy.destroy_guard_resource import OwnerCheck

class Controller(pulumi.ComponentResource):
    def __init__(self, name, aliases=()):
        super().__init__("site:index:Controller", name, None, pulumi.ResourceOptions(aliases=aliases))
        inside = pulumi.ResourceOptions(parent=self)
        owner = OwnerCheck(f"{{name}}:owner", [{namespace!r}], opts=inside)
        after = pulumi.ResourceOptions(parent=self, depends_on=[owner])
        settings = ConfigMap(f"{{name}}:it", metadata={{"name": "it", "namespace": {namespace!r}}}, opts=after)
        last = pulumi.ResourceOptions(parent=self, depends_on=[settings])
        DestroyGuard(f"{{name}}:guard", [], namespaces=[{namespace!r}], opts=last)

Controller({arguments})
"""


@pytest.fixture
def namespace(client: KubeClient, request: pytest.FixtureRequest) -> str:
    name = f"o-{abs(hash(request.node.name)) % 10**9}"
    value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    loop.run_in_loop(client.apply(value, manager="test"))
    return name


@pytest.fixture
def installed(cli_stack: Stack, api_server: RunningServer, namespace: str) -> Stack:
    """A stack that has installed a component `old`; options of Pulumi's Kubernetes are in its settings."""
    configure(cli_stack, api_server)
    write(cli_stack, namespace, "'old'")
    cli_stack.up()
    cli_stack.unchanged()
    return cli_stack


@pytest.fixture
def other(installed: Stack, api_server: RunningServer) -> Stack:
    """Another stack of the same program."""
    made = replace(installed, name="other")
    made.run("stack", "init")
    configure(made, api_server)
    return made


def configure(stack: Stack, api_server: RunningServer) -> None:
    stack.run("config", "set", "kubernetes:kubeconfig", str(api_server.kubeconfig))
    stack.run("config", "set", "kubernetes:upsertExistingObjects", "true")


def write(stack: Stack, namespace: str, arguments: str) -> None:
    stack.program(PROGRAM.format(namespace=namespace, arguments=arguments))


def owner(client: KubeClient, namespace: str) -> str | None:
    metadata = loop.run_in_loop(client.get(NAMESPACE, namespace))["metadata"]
    found: str | None = metadata.get("annotations", {}).get(COMPONENT)
    return found


def uid(client: KubeClient, namespace: str) -> str:
    """That of the ConfigMap, which is the same as long as nobody deletes it."""
    found: str = loop.run_in_loop(client.get(CONFIG_MAP, "it", namespace))["metadata"]["uid"]
    return found


def command_in(shown: str) -> list[str]:
    """What a message says to run with the CLI."""
    found: list[str] = re.findall(r"`pulumi (state [^`]*)`", shown)
    return found[0].replace("'", "").split()


@pytest.mark.soak
def test_a_renamed_component_is_refused_until_it_names_what_it_was(
    installed: Stack, client: KubeClient, namespace: str
) -> None:
    before = uid(client, namespace)
    write(installed, namespace, "'new'")
    belongs = f"namespace {namespace}: belongs to Controller old of stack test of project"
    assert belongs in installed.preview(ok=False)
    shown = installed.up(ok=False)
    assert belongs in shown

    installed.run(*command_in(shown), "--yes")
    (alias,) = set(re.findall(r"aliases=(\['[^']*'\])", shown))
    write(installed, namespace, f"'new', {alias}")
    installed.up()
    assert uid(client, namespace) == before
    assert str(owner(client, namespace)).endswith("Controller::new")
    write(installed, namespace, "'new'")
    installed.unchanged()


def test_what_is_another_stacks_is_neither_taken_nor_destroyed(
    installed: Stack, other: Stack, client: KubeClient, namespace: str
) -> None:
    assert "belongs to Controller old of stack test" in other.preview(ok=False)
    value = {"apiVersion": "v1", "kind": "Namespace"}
    metadata = {"name": namespace, "annotations": {COMPONENT: ""}}
    loop.run_in_loop(client.apply(value | {"metadata": metadata}, manager="kubectl", force=True))
    other.up()
    before = uid(client, namespace)

    shown = installed.run("destroy", "--yes", "--skip-preview", ok=False)
    assert f"namespace {namespace} belongs to Controller old of stack other" in shown
    installed.run(*command_in(shown), "--yes")
    installed.run("destroy", "--yes", "--skip-preview")
    assert uid(client, namespace) == before
    assert installed.resources("") == []

    other.run("destroy", "--yes", "--skip-preview")
    assert not owner(client, namespace)


@pytest.mark.soak
def test_a_cluster_that_is_not_there_yet_has_no_owner(cli_stack: Stack, namespace: str) -> None:
    cli_stack.run("config", "set", "kubernetes:kubeconfig", "/nowhere/kubeconfig")
    write(cli_stack, namespace, "'old'")
    program = (cli_stack.folder / "__main__.py").read_text()
    assert "kubeconfig" in cli_stack.preview(ok=False)
    only = re.sub(r"(?m)^ +settings = .*$", "        settings = owner", program)
    (cli_stack.folder / "__main__.py").write_text(only)
    assert "OwnerCheck" in cli_stack.preview()
