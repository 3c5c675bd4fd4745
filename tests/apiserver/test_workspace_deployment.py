"""A workspace through `pulumi up` on a real API server: made, found unchanged, changed in place, taken away."""

import json
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.accounts import Account, Request
from tests.deploy.project import Stack, new_cli_stack, until

PROGRAM = """
import pulumi
from trainer_infra import platform

team = platform.Workspace(
    "deployed",
    quota={"cpu": 64, "nvidia.com/gpu": QUOTA},
    members=[{"kind": "Group", "name": "deployed-team"}],
    secrets={"hub": {"ACCESS_TOKEN": "hf_123"}},
    runtimes=["torch-distributed"],
    data_cache=True,
    resource_quota={"pods": 1000, "requests.memory": "1024Gi"},
    limit_range={"defaultRequest": {"cpu": 0.5}},
)
pulumi.export("namespace", team.namespace)
pulumi.export("queue", team.queue)
"""


@pytest.fixture
def stack(tmp_path: Path, pulumi_env: dict[str, str], queue_server: RunningServer) -> Stack:
    env = {**pulumi_env, "KUBECONFIG": str(queue_server.kubeconfig)}
    return new_cli_stack(tmp_path / "project", env)


def write(stack: Stack, quota: int) -> None:
    (stack.folder / "__main__.py").write_text(f"QUOTA = {quota}\n{PROGRAM}")


def test_a_workspace_is_made_changed_in_place_and_taken_away(
    stack: Stack, queue_server: RunningServer
) -> None:
    admin = Account(queue_server.address)
    queues = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
    write(stack, 16)
    stack.up()
    assert stack.outputs() == {"namespace": "deployed", "queue": "default"}
    stack.unchanged()
    assert "hf_123" not in stack.export()

    before = admin.send(Request("GET", f"{queues}/deployed")).body
    write(stack, 32)
    assert "~ 1 updated" in stack.up()
    after = admin.send(Request("GET", f"{queues}/deployed")).body
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert '"nominalQuota": "32"' in json.dumps(after)

    # No controller is there that empties a namespace: a test plays it.
    with stack.start("destroy", "--yes", "--skip-preview") as process:
        until(lambda: is_going(admin) or process.poll() is not None)
        finalize(admin)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert stack.resources("") == []
    assert admin.send(Request("GET", f"{queues}/deployed")).status == 404
    for kind in ("clusterroles", "clusterrolebindings"):
        left = admin.send(Request("GET", f"/apis/rbac.authorization.k8s.io/v1/{kind}")).text
        assert "trainer-infra:deployed" not in left


def is_going(admin: Account) -> bool:
    namespace = admin.send(Request("GET", "/api/v1/namespaces/deployed"))
    return "deletionTimestamp" in namespace.text


def finalize(admin: Account) -> None:
    namespace = admin.send(Request("GET", "/api/v1/namespaces/deployed")).body
    empty = {**namespace, "spec": {"finalizers": []}}
    reply = admin.send(Request("PUT", "/api/v1/namespaces/deployed/finalize", empty))
    assert reply.status < 300, reply.text


def test_what_only_an_output_tells_ends_the_preview_with_a_sentence(stack: Stack) -> None:
    """The program ends while the SDK begins to serve its hooks."""
    (stack.folder / "__main__.py").write_text(
        "import pulumi\nfrom trainer_infra import platform\n"
        "flavors = pulumi.Output.from_input(['a10'])\n"
        "platform.Workspace('deployed', quota={'cpu': 8}, flavors=flavors)\n"
    )
    printed = stack.preview(ok=False)
    sentence = (
        "quota: names a flavor that the platform does not have, got 'default-flavor'; use a10"
    )
    assert f"Workspace deployed: {sentence}" in printed
    assert "Traceback" not in printed


TWICE = """
import os
import pulumi
import pulumi_kubernetes as kubernetes
from trainer_infra import platform

class Department(pulumi.ComponentResource):
    def __init__(self, name, workspace, **options):
        super().__init__(f"acme:index:{name}", name, None, pulumi.ResourceOptions(**options))
        mine = pulumi.ResourceOptions(parent=self)
        platform.Workspace(workspace, namespace="deployed", opts=mine)

others = [kubernetes.Provider("west", kubeconfig=os.environ["KUBECONFIG"])] if OTHER else []
Department("East", "deployed")
Department("West", WEST, providers=others)
"""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("west", "of_east"),
    [("sight", "Workspace deployed"), ("deployed", "another Workspace deployed")],
)
def test_an_object_is_declared_by_one_component_of_a_program_on_each_cluster(
    stack: Stack, west: str, of_east: str
) -> None:
    program = stack.folder / "__main__.py"
    program.write_text(f"WEST, OTHER = {west!r}, False\n{TWICE}")
    printed = " ".join(stack.preview(ok=False).split())
    said = f"Workspace {west}: declares Namespace/deployed and 3 more, which {of_east} declares too"
    assert f"{said}; name one differently, or declare it once" in printed
    assert "Traceback" not in printed

    program.write_text(f"WEST, OTHER = {west!r}, True\n{TWICE}")
    assert f"{west}:vision/trainer-infra-default-deny" in stack.preview()
