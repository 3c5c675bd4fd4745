"""Where training pods report progress to: reference behaviour 3.10."""

from typing import Any

import pytest

from tests.render.runtimes import replicated, runtime, train_job
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.plugins import PLUGINS, train_job_status
from trainer_infra.render.plugins.train_job_status import StatusServer

PATH = "namespaces/n/trainjobs/tj/status"
MOUNT = "/var/run/secrets/kubeflow/trainer"


def server(port: int | None = 10443, ca_crt: str | None = "PEM") -> StatusServer:
    return StatusServer(
        service="kubeflow-trainer-controller-manager",
        namespace="kubeflow-system",
        port=port,
        secret="kubeflow-trainer-webhook-cert",
        ca_crt=ca_crt,
    )


def render(to: StatusServer, *jobs: dict[str, Any], **spec: Any) -> tuple[Any, ...]:
    *others, jobset = PLUGINS
    plugins = (*others, train_job_status.plugin(to), jobset)
    return pipeline.render(train_job(**spec), runtime(*jobs), behaviour=Behaviour(plugins))


def test_every_container_of_the_trainer_learns_where_to_report() -> None:
    containers = [{"name": "node", "image": "i"}, {"name": "side", "image": "i"}]
    inits = [{"name": "before", "image": "i"}]
    trainer = replicated("node", "trainer", containers=containers, initContainers=inits)
    config_map, jobset = render(server(), replicated("other"), trainer)
    host = "kubeflow-trainer-controller-manager.kubeflow-system.svc:10443"
    env = [
        {
            "name": "KUBEFLOW_TRAINER_SERVER_URL",
            "value": f"https://{host}/apis/trainer.kubeflow.org/v1alpha1/{PATH}",
        },
        {"name": "KUBEFLOW_TRAINER_SERVER_CA_CERT", "value": f"{MOUNT}/ca.crt"},
        {"name": "KUBEFLOW_TRAINER_SERVER_TOKEN", "value": f"{MOUNT}/token"},
    ]
    mounts = [{"name": "kubeflow-trainer-token", "mountPath": MOUNT, "readOnly": True}]
    token = {
        "audience": f"trainer.kubeflow.org/v1alpha1/{PATH}",
        "expirationSeconds": 3600,
        "path": "token",
    }
    certificate = {"name": "tj-tls-config", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [{"serviceAccountToken": token}, {"configMap": certificate}]
    other, node = (
        each["template"]["spec"]["template"]["spec"] for each in jobset["spec"]["replicatedJobs"]
    )
    assert node == {
        "containers": [{**each, "env": env, "volumeMounts": mounts} for each in containers],
        "initContainers": inits,
        "volumes": [{"name": "kubeflow-trainer-token", "projected": {"sources": sources}}],
    }
    assert other == {"containers": [{"name": "node", "image": "i"}]}
    assert config_map == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "tj-tls-config", "namespace": "n"},
        "data": {"ca.crt": "PEM"},
    }


def test_what_the_runtime_mounts_there_is_replaced() -> None:
    container = {
        "name": "node",
        "image": "i",
        "volumeMounts": [{"name": "mine", "mountPath": MOUNT}, {"name": "x", "mountPath": "/x"}],
    }
    volumes = [{"name": "kubeflow-trainer-token", "emptyDir": {}}, {"name": "x", "emptyDir": {}}]
    trainer = replicated("node", "trainer", containers=[container], volumes=volumes)
    _, jobset = render(server(), trainer)
    (job,) = jobset["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "kubeflow-trainer-token", "mountPath": MOUNT, "readOnly": True},
        {"name": "x", "mountPath": "/x"},
    ]
    assert [list(each) for each in pod["volumes"]] == [
        ["name", "projected"],
        ["name", "emptyDir"],
    ]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (server(port=None), "missing status server port"),
        (
            server(ca_crt=None),
            (
                "failed to look up status server tls secret: "
                'secrets "kubeflow-trainer-webhook-cert" not found'
            ),
        ),
        (server(ca_crt=""), "failed to find status server ca.crt in tls secret"),
    ],
)
def test_a_server_that_is_not_set_up_is_said(to: StatusServer, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        render(to, replicated("node", "trainer"))
    assert str(caught.value) == message


def test_nothing_reports_unless_a_controller_lists_the_plugin() -> None:
    assert "TrainJobStatus" not in {each.name for each in PLUGINS}
