"""The platform's components on a real cluster: installed, used, changed in place, taken away.

Kueue 0.19 beside Trainer 2.3 is a pair that neither project tries: a TrainJob waits here for quota that
another one has, and both complete.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import base_image, images, kueue
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.cluster import Namespace
from tests.e2e.control_plane import IMAGES
from tests.e2e.disruptive.queues import Queues
from tests.e2e.jobs import eventually
from tests.e2e.plain_train_job import UNTIL_TOLD, conditions, end, post_train_job
from tests.soak_sample import sampled

# A platform comes, changes and goes in one test, which takes longer than others may on a busy machine.
pytestmark = pytest.mark.timeout(3600)

PROGRAM = """
import pulumi
from trainer_infra import platform

# Images are loaded into the node, which has two cores.
here = {"image_pull_policy": "IfNotPresent", "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}}}
plane = platform.TrainerControlPlane(
    "plane", implementation=IMPLEMENTATION, configuration=PLANE, dashboard=True, status_server=True, **here
)
after = pulumi.ResourceOptions(depends_on=[plane])
queues = platform.Kueue("queues", visibility=False, opts=after, **here)
pulumi.export("versions", [queues.version, plane.version])
"""
PODS = {
    "kueue-system": "kueue-controller-manager",
    "kubeflow-system": "kubeflow-trainer-controller-manager",
}
"""Namespace and Deployment of each controller."""

REPORT = """
python3 - <<'END'
import datetime, json, os, pathlib, ssl, urllib.request

def ask(url, token, body, context):
    request = urllib.request.Request(url, body, {"Authorization": "Bearer " + token.read_text()})
    return urllib.request.urlopen(request, context=context).read().decode()

server = {key.rpartition("SERVER_")[2]: value for key, value in os.environ.items() if "TRAINER_SERVER" in key}
now = datetime.datetime.now(datetime.timezone.utc).isoformat()
body = json.dumps({"trainerStatus": {"progressPercentage": 42, "lastUpdatedTime": now}}).encode()
trusted = ssl.create_default_context(cafile=server["CA_CERT"])
ask(server["URL"], pathlib.Path(server["TOKEN"]), body, trusted)
account = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
page = "https://kubeflow-trainer-controller-manager.kubeflow-system:8443/metrics"
print(ask(page, account, None, ssl._create_unverified_context()))
END
"""
"""Posts progress as pods do, and prints the controller's metrics."""


@pytest.fixture
def stack(
    tmp_path: Path, pulumi_env: dict[str, str], kubeconfig: Path, namespace: Namespace
) -> Iterator[Stack]:
    """A stack of the platform whose CLI finds the cluster as a user's does; all of it goes in the end."""
    assert namespace.name, "it goes after the stack"
    kueue.remove(kubeconfig)
    images.loaded(kueue.IMAGE, kueue.archive())
    made = new_cli_stack(tmp_path / "platform", {**pulumi_env, "KUBECONFIG": str(kubeconfig)})
    yield made
    made.run("config", "set", "trainer:allowDestroy", "true")
    made.run("destroy", "--yes", "--skip-preview")


def write(stack: Stack, implementation: str, plane: Mapping[str, Any]) -> None:
    """The program with an implementation of Trainer, whose image is there, and its configuration."""
    IMAGES[implementation]()
    text = f"IMPLEMENTATION, PLANE = {implementation!r}, {dict(plane)!r}\n{PROGRAM}"
    (stack.folder / "__main__.py").write_text(text)


def is_complete(namespace: Namespace, name: str) -> bool:
    return "Complete" in conditions(namespace, name)


def controller_pods(namespace: Namespace) -> dict[str, list[str]]:
    """UIDs of the controllers' pods, by namespace."""
    uid = "jsonpath={.items[*].metadata.uid}"
    return {each: namespace.kubectl("get", "pods", "-n", each, "-o", uid).split() for each in PODS}


def judge_report_and_metrics(namespace: Namespace) -> None:
    """A pod's report is in its TrainJob, and the controller has every metric that the dashboard asks for.

    A controller that started anew has those of its webhooks once the API server has asked it. The one
    before it ends half a minute after it was told to, and keeps the API server's connection until then.
    """
    eventually(lambda: len(controller_pods(namespace)["kubeflow-system"]) == 1)
    page = json.loads(namespace.kubectl("get", "-n", "kubeflow-system", "-o", "json", "configmap",
                                        "kubeflow-trainer-controller-manager-dashboard"))  # fmt: skip
    asked = set(
        re.findall(r"(\w+){namespace=", page["data"]["kubeflow-trainer.json"].replace("\\", ""))
    )
    assert len(asked) >= 8
    post_train_job(namespace, "reports", REPORT, "team", base_image.loaded())
    eventually(partial(is_complete, namespace, "reports"))
    assert (
        namespace.one("trainjobs", "reports")["status"]["trainerStatus"]["progressPercentage"] == 42
    )
    chosen = "jobset.sigs.k8s.io/jobset-name=reports"
    metrics = namespace.kubectl("logs", "-l", chosen, "--tail=-1")
    assert [each for each in asked if f"\n{each}" not in metrics] == []


@pytest.mark.parametrize("implementation", sampled(["builtin", "upstream"], every=2))
def test_a_platform_is_installed_queues_is_changed_under_a_run_and_taken_away(
    stack: Stack, namespace: Namespace, implementation: str
) -> None:
    write(stack, implementation, {})
    stack.up()
    assert stack.outputs() == {"versions": ["0.19.0", "2.3.0"]}
    stack.unchanged()

    queues = Queues(namespace)
    queues.local(queues.cluster("150m"))
    post_train_job(namespace, "runs", UNTIL_TOLD, "team")
    (pod,) = eventually(lambda: namespace.names("pods"))
    post_train_job(namespace, "waits", "true", "team")
    eventually(lambda: len(namespace.all("workloads")) == 2)
    before = controller_pods(namespace)
    write(stack, implementation, {"clientConnection": {"qps": 60, "burst": 120}})
    printed = stack.up()
    after = controller_pods(namespace)
    assert "~ 2 updated" in printed
    assert after["kubeflow-system"] != before["kubeflow-system"]
    assert after["kueue-system"] == before["kueue-system"]
    assert namespace.names("pods") == [pod]
    assert conditions(namespace, "waits") == {"Suspended"}
    end(namespace, pod)
    for job in ("runs", "waits"):
        eventually(partial(is_complete, namespace, job))

    judge_report_and_metrics(namespace)

    namespace.kubectl("delete", "trainjobs,trainingruntimes,localqueues", "--all")
    namespace.kubectl("delete", "clusterqueues,resourceflavors", "--all")
    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.resources("") == []
    left = namespace.kubectl("get", "customresourcedefinitions", "-o", "name")
    for group in ("kueue.x-k8s.io", "trainer.kubeflow.org"):
        assert group not in left
    for each in PODS:
        namespace.kubectl("get", "namespace", each, ok=False)


@pytest.mark.soak
def test_one_controller_takes_over_from_the_other_under_a_run(
    stack: Stack, namespace: Namespace
) -> None:
    """What a stack meets that was made before `builtin` became the default, and one that goes back."""
    write(stack, "upstream", {})
    stack.up()
    post_train_job(namespace, "first", UNTIL_TOLD)
    (first,) = eventually(lambda: namespace.names("pods"))
    jobset = namespace.kubectl("get", "jobset", "first", "-o", "jsonpath={.metadata.uid} {.spec}")
    namespace.kubectl("wait", "--for=condition=Ready", f"pod/{first}", "--timeout=240s")

    write(stack, "builtin", {})
    stack.up()
    stack.unchanged()
    post_train_job(namespace, "second", UNTIL_TOLD)
    (second,) = eventually(lambda: [each for each in namespace.names("pods") if each != first])
    printed = ("get", "jobset", "first", "-o", "jsonpath={.metadata.uid} {.spec}")
    assert namespace.kubectl(*printed) == jobset
    namespace.kubectl("wait", "--for=condition=Ready", f"pod/{second}", "--timeout=240s")
    end(namespace, first)
    eventually(partial(is_complete, namespace, "first"))

    write(stack, "upstream", {})
    stack.up()
    stack.unchanged()
    end(namespace, second)
    eventually(partial(is_complete, namespace, "second"))
    post_train_job(namespace, "third", "true")
    eventually(partial(is_complete, namespace, "third"))
    snapshots = {each for each in namespace.names("configmaps") if "snapshot" in each}
    assert snapshots == {f"{each}-runtime-snapshot" for each in ("first", "second", "third")}
    namespace.kubectl("delete", "trainjobs,trainingruntimes", "--all")
