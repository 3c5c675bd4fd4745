"""The controllers of JobSets and Jobs as processes beside a bare API server: what makes pods, without nodes.

JobSet's webhooks judge nothing here: what they default, a test writes.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from from_source.cluster import build, jobset, kubernetes
from from_source.cluster.apiserver import RunningServer
from from_source.cluster.process import Process
from tests.kube import certificate
from trainer_infra.local.network import reserved_port

_CONTROLLERS: Final = (
    "job-controller",
    "serviceaccount-controller",
    "garbage-collector-controller",
)


@contextmanager
def controlling(server: RunningServer) -> Iterator[None]:
    """Both run while the context is open.

    Raises:
        NotAvailable: One cannot be built.
    """
    with ExitStack() as ending:
        port = ending.enter_context(reserved_port())
        ending.callback(_jobset(server, port).kill)
        ending.callback(_jobs(server).kill)
        yield


def _jobset(server: RunningServer, port: int) -> Process:
    folder = server.folder / "jobset"
    folder.mkdir()
    pair = certificate.self_signed("jobset")
    for name, content in zip(("tls.crt", "tls.key"), pair, strict=True):
        (folder / name).write_bytes(content)
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(folder)},
    }
    file = folder / "configuration.yaml"
    file.write_text(json.dumps(configuration))
    program = str(build.built(jobset.JOBSET))
    return Process([program, f"--kubeconfig={server.kubeconfig}", f"--config={file}"], folder)


def _jobs(server: RunningServer) -> Process:
    folder: Path = server.folder / "jobs"
    folder.mkdir()
    flags = {
        "kubeconfig": str(server.kubeconfig),
        "controllers": ",".join(_CONTROLLERS),
        "leader-elect": "false",
        "secure-port": "0",
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
    }
    program = str(build.built(kubernetes.program("kube-controller-manager")))
    return Process([program, *(f"--{name}={value}" for name, value in flags.items())], folder)
