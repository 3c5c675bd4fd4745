"""A ServiceAccount with exactly the Roles of docs/kubernetes.md can do everything, and uses all of it."""

import base64
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from urllib.parse import urlsplit

import pytest
import yaml

from from_source.cluster.kube_apiserver import Address
from tests.cluster.roles import on_the_page
from tests.deploy.project import Stack, read_until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG, eventually
from tests.e2e.test_command import start
from tests.kube.front import Front
from tests.kube.scripted import config
from trainer_infra.cluster import rights
from trainer_infra.cluster.rights import ROLES, Right
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME

PATH = re.compile(
    r"/apis?/(?:(?P<group>[a-z0-9.-]+\.[a-z0-9.-]+|batch)/)?v[0-9a-z]+"
    r"(?:/namespaces/(?P<namespace>[^/]+))?(?:/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[a-z]+))?)?"
)
FREE = {"selfsubjectaccessreviews"}
"""What every account may ask."""
ELSEWHERE = {
    *rights.right_to(TRAINING_RUNTIME, *rights.WHOLE),
    *rights.right_to(CLUSTER_TRAINING_RUNTIME, *rights.WHOLE),
    *ROLES["trainjobs"],
}
"""Of kinds that this cluster does not serve; tests/cluster/test_rights.py tries them."""

RUNS = """
from trainer_infra import TrainJobs
env = {"WORD": Secret(pulumi.Config().require("word"))}
def with_word(**arguments):
    return CustomTrainer(train, func_args=arguments, num_nodes=1, image=place["image"], env=env,
                         resources_per_node={"cpu": "10m"})
TrainJob("job", runtime="jax-distributed", namespace=NS, name="job",
         trainer=with_word(seconds=2.0), wait_for="complete")
TrainJob("held", runtime="jax-distributed", namespace=NS, name="held",
         trainer=with_word(seconds=600.0), suspend=True, delete_timeout=90)
TrainJobs("sweep", {f"m{i}": {"runtime": "jax-distributed", "namespace": NS, "suspend": True,
                              "trainer": with_word(text=str(i))} for i in range(6)})
"""
LATE = """
TrainJob("late", runtime="jax-distributed", namespace=NS, name="late", wait_for="complete",
         active_deadline_seconds=3, trainer=CustomTrainer(train, image=place["image"],
                                                          resources_per_node={"cpu": "999"}))
"""


@dataclass(frozen=True)
class Account:
    """A ServiceAccount, and the proxy that notes what it asks."""

    front: Front
    kubeconfig: Path

    def used(self) -> set[Right]:
        """The rights that its requests took."""
        return {right for each in self.front.asked if (right := taken(*each)) is not None}


def taken(method: str, path: str, query: dict[str, str]) -> Right | None:
    """The right that a request takes; None where everyone has it."""
    found = PATH.fullmatch(path)
    assert found is not None, path
    resource, name, sub = found["resource"], found["name"], found["sub"]
    if resource is None or resource in FREE:
        return None
    verbs = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
    read = "get" if name else "watch" if "watch" in query else "list"
    whole = f"{resource}/{sub}" if sub else resource
    return Right(verbs.get(method, read), whole, found["group"] or "", resource != "nodes")


@pytest.fixture
def account(namespace: Namespace, tmp_path: Path) -> Iterator[Account]:
    """An account with every Role of the page."""
    mark = secrets.token_hex(4)
    subject = {"kind": "ServiceAccount", "name": "ci", "namespace": namespace.name}
    made = []
    for role in on_the_page():
        # Those of the cluster are for everyone who tests on it: they get names of their own.
        name = f"{role['metadata']['name']}-{mark}"
        api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": name}
        binding = {"kind": f"{role['kind']}Binding", "metadata": {"name": name}}
        made.append({**role, "metadata": {"name": name}})
        made.append({**api, **binding, "roleRef": reference, "subjects": [subject]})
    text = yaml.safe_dump_all(made)
    namespace.kubectl("create", "serviceaccount", "ci")
    namespace.kubectl("apply", "-f", "-", given=text)
    token = namespace.kubectl("create", "token", "ci", "--duration=1h").strip()
    front = run_in_loop(Front.started(address(namespace, token, tmp_path)))
    file = tmp_path / "account"
    file.write_text(json.dumps(config(front.url)))
    yield Account(front, file)
    run_in_loop(front.close())
    namespace.kubectl("delete", "-f", "-", "--wait=false", given=text)


def address(namespace: Namespace, token: str, folder: Path) -> Address:
    """The cluster as the proxy reaches it."""
    known = yaml.safe_load(namespace.kubeconfig.read_text())
    cluster = known["clusters"][0]["cluster"]
    certificate = folder / "ca.crt"
    if "certificate-authority-data" in cluster:
        certificate.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    else:
        place = namespace.kubeconfig.parent / cluster["certificate-authority"]
        certificate.write_bytes(place.read_bytes())
    assert urlsplit(cluster["server"]).scheme == "https"
    return Address(cluster["server"].rstrip("/"), token, certificate)


def test_an_account_with_exactly_these_rights_does_everything_and_uses_each(
    cluster_stack: Stack, namespace: Namespace, account: Account
) -> None:
    cluster_stack.run("config", "set", "trainer:kubeconfig", str(account.kubeconfig))
    deployed(cluster_stack)
    repaired_and_changed(cluster_stack, namespace)
    looked_after(cluster_stack, namespace)
    failed_and_forgotten(cluster_stack)
    cluster_stack.run("destroy", "--yes")
    assert namespace.names("jobsets") == []
    assert namespace.names("configmaps") == ["kube-root-ca.crt"]

    listed = {right for each in ROLES.values() for right in each} - ELSEWHERE
    used = account.used()
    assert {each.shown() for each in used - listed - ELSEWHERE} <= BESIDE
    assert {each.shown() for each in listed - used} <= RESERVED


BESIDE = {"get namespaces", "watch jobsets.jobset.x-k8s.io"}
"""A cluster is told by a UID of it where that may be read; who may not watch a JobSet go looks again."""
RESERVED = {"list workloads.kueue.x-k8s.io"}
"""Used where Kueue is installed."""


def deployed(stack: Stack) -> None:
    """Runs with secrets, with gates, and a batch: `preview` and `up`."""
    stack.run("config", "set", "word", "one")
    stack.program(PROGRAM + dedent(RUNS))
    assert "warning" not in stack.preview()
    assert "lacks the right" not in stack.up()
    stack.unchanged()


def repaired_and_changed(stack: Stack, namespace: Namespace) -> None:
    """Drift is found and repaired, a secret is replaced, a run is resumed: `refresh` and `up`."""
    label = "trainer-infra.dev/stack=other"
    namespace.kubectl("label", "jobset", "held", label, "--overwrite")
    stack.run("refresh", "--yes")
    assert stack.job("held")["drift"]
    stack.run("config", "set", "word", "two")
    stack.program((PROGRAM + dedent(RUNS)).replace("suspend=True, delete", "suspend=False, delete"))
    stack.up()
    stored = namespace.one("secrets", "held-secret")["data"]
    assert base64.b64encode(b"two").decode() in stored.values()


def looked_after(stack: Stack, namespace: Namespace) -> None:
    """Every verb of the command."""
    here = ("-n", namespace.name)
    eventually(lambda: phase(stack, "held", here) == "Running", 120)
    stack.run("refresh", "--yes")
    assert "held" in stack.trainer("get", *here)
    assert "lacks the right" not in stack.trainer("describe", "held", *here)
    eventually(lambda: "rank 0 of 1" in stack.trainer("logs", "held", *here))
    following = start(stack, "logs", "-f", "held", *here)
    read_until("rank 0 of 1", following)
    for verb in ("suspend", "resume", "delete"):
        stack.trainer(verb, "held", *here)
    following.communicate(timeout=LONG)


def failed_and_forgotten(stack: Stack) -> None:
    """A run that fails without a failed pod, and that no state knows then: `gc`."""
    stack.program(PROGRAM + dedent(RUNS).partition("TrainJob(")[0] + dedent(LATE))
    assert "deadline" in stack.up(ok=False).lower()
    forget(stack, "late")
    assert "late deleted" in stack.trainer("gc", "--stack", "test", "--yes")


def forget(stack: Stack, name: str) -> None:
    """Take a resource out of the state."""
    state = json.loads(stack.export())
    resources = state["deployment"]["resources"]
    resources[:] = [each for each in resources if not each["urn"].endswith(f"::{name}")]
    file = stack.folder / "state.json"
    file.write_text(json.dumps(state))
    stack.run("stack", "import", "--file", str(file))


def phase(stack: Stack, name: str, here: tuple[str, str]) -> str:
    found = json.loads(stack.trainer("get", name, *here, "-o", "json"))
    return str(found["phase"])
