"""Objects are made, changed, replaced, refreshed, imported and deleted alike by both plugins."""

import pytest

from tests.contract.kubernetes_plugin.conftest import Objects
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP, Resource

CLUSTER_ROLE = Resource(
    "rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False
)

MAP = """
k8s.core.v1.ConfigMap("a", metadata=meta("a"), data={data!r}, opts=there)
"""


def data(client: KubeClient, namespace: str, name: str = "a") -> dict[str, str]:
    found: dict[str, str] = run_in_loop(client.get(CONFIG_MAP, name, namespace))["data"]
    return found


def test_an_object_is_made_changed_kept_and_deleted(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    objects.up(MAP.format(data={"x": "1", "y": "2"}))
    assert data(client, namespace) == {"x": "1", "y": "2"}
    objects.stack.unchanged()

    objects.program(MAP.format(data={"x": "3"}))
    preview = objects.stack.preview()
    assert '"1" => "3"' in preview
    assert "~ 1 to update" in preview
    objects.stack.up()
    assert data(client, namespace) == {"x": "3"}
    objects.stack.unchanged()

    objects.stack.run("destroy", "--yes", "--skip-preview")
    with pytest.raises(NotFound):
        data(client, namespace)


@pytest.mark.soak
def test_another_name_is_a_replacement(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    objects.up(MAP.format(data={"x": "1"}))
    printed = objects.up(MAP.format(data={"x": "1"}).replace('meta("a")', 'meta("b")'))

    assert "+-1 replaced" in printed
    assert data(client, namespace, "b") == {"x": "1"}
    with pytest.raises(NotFound):
        data(client, namespace)


@pytest.mark.soak
def test_an_object_without_a_name_has_one_that_stays(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    program = """
    made = k8s.core.v1.ConfigMap("made", data={"x": "1"}, opts=there)
    pulumi.export("name", made.metadata["name"])
    pulumi.export("namespace", made.metadata["namespace"])
    """
    objects.up(program)
    first = objects.stack.outputs()
    objects.up(program.replace('"1"', '"2"'))

    assert first["name"].startswith("made-")
    assert first["namespace"] == namespace
    assert objects.stack.outputs() == first
    assert data(client, namespace, first["name"]) == {"x": "2"}


@pytest.mark.soak
def test_a_field_that_cannot_change_makes_a_new_object(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    program = """
    k8s.core.v1.ConfigMap("a", metadata=meta("a"), data={"x": "1"}, immutable=True, opts=there)
    """
    objects.up(program)
    objects.program(program.replace('"1"', '"2"'))
    preview = objects.stack.preview()
    objects.stack.up()

    assert "+-1 to replace" in preview
    assert data(client, namespace) == {"x": "2"}


def test_drift_is_found_by_a_refresh_and_undone_by_an_up(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    objects.up(MAP.format(data={"x": "1"}))
    value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2", "y": "theirs"}}
    value["metadata"] = {"name": "a", "namespace": namespace}
    run_in_loop(client.apply(value, manager="other", force=True))

    assert '"1" => "2"' in objects.stack.run("refresh", "--yes", "--diff")
    printed = objects.stack.preview(ok=False)
    assert "conflict" in printed
    assert "other" in printed
    objects.up(
        MAP.replace(
            'meta("a")', 'meta("a", annotations={{"pulumi.com/patchForce": "true"}})'
        ).format(data={"x": "1"})
    )
    assert data(client, namespace) == {"x": "1", "y": "theirs"}


@pytest.mark.soak
def test_an_object_that_is_gone_is_made_again(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    objects.up(MAP.format(data={"x": "1"}))
    run_in_loop(client.delete(CONFIG_MAP, "a", namespace))
    objects.stack.run("refresh", "--yes")
    objects.stack.up()

    assert data(client, namespace) == {"x": "1"}


@pytest.mark.soak
def test_an_object_that_is_there_is_refused_and_can_be_imported(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}}
    value["metadata"] = {"name": "a", "namespace": namespace}
    run_in_loop(client.apply(value, manager="other"))
    program = MAP.format(data={"x": "1"})

    assert "already" in objects.up(program, ok=False)
    imported = f'pulumi.ResourceOptions(provider=provider, import_="{namespace}/a")'
    printed = objects.up(program.replace("opts=there", f"opts={imported}"))
    assert "= 1 imported" in printed
    objects.program(program)
    objects.stack.unchanged()


def test_a_secret_is_no_plain_text_in_the_state(objects: Objects) -> None:
    objects.up("""
    k8s.core.v1.Secret("s", metadata=meta("s"), string_data={"token": "hush-hush"}, opts=there)
    k8s.core.v1.ConfigMap("a", metadata=meta("a"), data={"x": pulumi.Output.secret("murmur")}, opts=there)
    """)
    state = objects.stack.export()

    for word in ("hush-hush", "aHVzaC1odXNo", "murmur"):
        assert word not in state
    objects.stack.unchanged()


@pytest.mark.soak
def test_an_object_of_the_whole_cluster_is_made_imported_and_deleted(
    objects: Objects, client: KubeClient, namespace: str
) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": namespace, "labels": {"app": "a"}},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    run_in_loop(client.apply(role, manager="helm"))
    program = f"""
    k8s.rbac.v1.ClusterRole("role", metadata={role["metadata"]!r}, rules={role["rules"]!r}, opts=OPTS)
    """
    imported = f'pulumi.ResourceOptions(provider=provider, import_="{namespace}")'

    assert "= 1 imported" in objects.up(program.replace("OPTS", imported))
    objects.program(program.replace("OPTS", "there"))
    objects.stack.unchanged()
    objects.stack.run("destroy", "--yes", "--skip-preview")
    with pytest.raises(NotFound):
        run_in_loop(client.get(CLUSTER_ROLE, namespace))
