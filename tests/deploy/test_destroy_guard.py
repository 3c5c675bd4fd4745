"""What keeps a platform from being destroyed under its users, by the real CLI on a real API server."""

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster_programs import NewServer
from tests.deploy.project import Stack
from tests.kube.real_client import client
from trainer_infra.kube import loop
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import CONFIG_MAP, NAMESPACE

__all__ = ["client"]
PROGRAM = """
from trainer_infra.deploy.destroy_guard_resource import DestroyGuard

kinds = [("v1", "ConfigMap"), ("v1", "Secret"), ("example.com/v1", "Unserved")]
landmark = {{"name": {namespace!r}, "uid": {uid!r}}}
DestroyGuard("guard", kinds[{first}:], namespace={namespace!r}, ignored=["ConfigMap/{namespace}/kept"],
             landmark=landmark, cluster={cluster!r}, opts=pulumi.ResourceOptions())
"""
NAMES = ("kept", "a", "b", "c", "d")


@pytest.fixture
def namespace(client: KubeClient, request: pytest.FixtureRequest) -> str:
    """A namespace with ConfigMaps in it."""
    name = f"g-{abs(hash(request.node.name)) % 10**9}"
    apply(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for each in NAMES:
        metadata = {"name": each, "namespace": name}
        apply(client, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    return name


def apply(client: KubeClient, value: dict[str, object]) -> None:
    loop.run_in_loop(client.apply(value, manager="test"))


def uid_of(client: KubeClient, namespace: str) -> str:
    found: str = loop.run_in_loop(client.get(NAMESPACE, namespace))["metadata"]["uid"]
    return found


def config_maps(client: KubeClient, namespace: str) -> list[str]:
    listed = loop.run_in_loop(client.list(ObjectSelection(CONFIG_MAP, namespace))).items
    return sorted(each["metadata"]["name"] for each in listed)


@pytest.fixture
def guarded(stack: Stack, client: KubeClient, api_server: RunningServer, namespace: str) -> Stack:
    """The stack with a guard of the namespace's ConfigMaps and Secrets."""
    stack.run("config", "set", "kubernetes:kubeconfig", str(api_server.kubeconfig))
    write(stack, client, namespace)
    stack.up()
    stack.unchanged()
    return stack


def write(
    stack: Stack, client: KubeClient, namespace: str, first: int = 0, kubeconfig: str = ""
) -> None:
    uid = uid_of(client, namespace)
    cluster = {"kubeconfig": kubeconfig} if kubeconfig else None
    stack.program(PROGRAM.format(namespace=namespace, uid=uid, first=first, cluster=cluster))


def test_destroy_is_refused_while_something_is_in_use(
    guarded: Stack, client: KubeClient, namespace: str
) -> None:
    shown = guarded.run("destroy", "--yes", "--skip-preview", ok=False)
    in_use = f"4 ConfigMaps ({namespace}/a, {namespace}/b, {namespace}/c and 1 more)"
    assert f"{in_use} would be lost" in shown
    assert "pulumi config set trainer:allowDestroy true" in shown
    assert "Traceback" not in shown
    assert config_maps(client, namespace) == sorted(NAMES)
    assert len(guarded.resources("DestroyGuard")) == 1


def test_destroy_deletes_what_is_in_use_where_the_stack_allows_it(
    guarded: Stack, client: KubeClient, namespace: str
) -> None:
    guarded.run("config", "set", "trainer:allowDestroy", "true")
    shown = guarded.run("destroy", "--yes", "--skip-preview")
    assert "trainer:allowDestroy is set: deletes 4 ConfigMaps" in shown
    assert config_maps(client, namespace) == ["kept"]
    assert guarded.resources("") == []


@pytest.mark.soak
def test_destroy_goes_on_where_nothing_is_in_use(
    guarded: Stack, client: KubeClient, namespace: str
) -> None:
    for each in NAMES[1:]:
        loop.run_in_loop(client.delete(CONFIG_MAP, each, namespace))
    guarded.run("destroy", "--yes", "--skip-preview")
    assert guarded.resources("") == []


def test_a_kind_in_use_is_not_given_up(guarded: Stack, client: KubeClient, namespace: str) -> None:
    write(guarded, client, namespace, first=1)
    assert "4 ConfigMaps" in guarded.up(ok=False)
    for each in NAMES[1:]:
        loop.run_in_loop(client.delete(CONFIG_MAP, each, namespace))
    guarded.up()
    guarded.unchanged()


@pytest.mark.soak
def test_another_cluster_is_not_taken_for_the_guarded_one(
    guarded: Stack,
    namespace: str,
    own_api_server: NewServer,
) -> None:
    with own_api_server() as other:
        guarded.run("config", "set", "kubernetes:kubeconfig", str(other.kubeconfig))
        for operation in ("destroy", "up"):
            if operation == "up":
                text = (guarded.folder / "__main__.py").read_text()
                (guarded.folder / "__main__.py").write_text(text.replace("[0:]", "[1:]"))
            shown = guarded.run(operation, "--yes", "--skip-preview", ok=False)
            assert f"has another namespace {namespace} than the one that is guarded" in shown
    assert len(guarded.resources("DestroyGuard")) == 1


@pytest.mark.soak
def test_a_guard_of_the_wrong_cluster_is_mended_by_naming_the_right_one(
    guarded: Stack,
    client: KubeClient,
    api_server: RunningServer,
    namespace: str,
    own_api_server: NewServer,
) -> None:
    with own_api_server() as other:
        guarded.run("config", "set", "kubernetes:kubeconfig", str(other.kubeconfig))
        write(guarded, client, namespace, kubeconfig=str(api_server.kubeconfig))
        guarded.up()
        write(guarded, client, namespace, first=1, kubeconfig=str(api_server.kubeconfig))
        assert "4 ConfigMaps" in guarded.up(ok=False)
        shown = guarded.run("destroy", "--yes", "--skip-preview", ok=False)
    assert f"4 ConfigMaps ({namespace}/a" in shown
    assert config_maps(client, namespace) == sorted(NAMES)
