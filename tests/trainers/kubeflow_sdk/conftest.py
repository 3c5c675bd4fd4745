"""What the published SDK sends for a TrainJob, and what we make of the same arguments."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from kubeflow.trainer import KubernetesBackendConfig, TrainerClient
from kubernetes.client import Configuration  # type: ignore[import-untyped]  # it has no types
from typing_extensions import override

from trainer_infra import catalog, names
from trainer_infra.deploy.train_job_arguments import Arguments, to_inputs
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers.kubeflow_sdk.train_job_arguments import own_arguments

Sent = Callable[[Mapping[str, Any]], dict[str, Any]]


class ApiServer(ThreadingHTTPServer):
    """Has the runtimes of the catalog, and keeps what is posted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.posted: list[dict[str, Any]] = []


class Requests(BaseHTTPRequestHandler):
    """Answers what the SDK asks to train."""

    server: ApiServer

    def do_GET(self) -> None:
        kind, name = self.path.split("/")[-2:]
        known = {each.name: each for each in catalog.RUNTIMES}
        if kind == "clustertrainingruntimes" and name in known:
            self._answer(200, known[name].runtime().to_wire())
        else:
            self._answer(404, {"kind": "Status", "status": "Failure", "code": 404})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posted.append(body)
        self._answer(201, body)

    def _answer(self, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @override
    def log_message(self, *_: object) -> None:
        """Nothing: the test's output is its own."""


@pytest.fixture(scope="session")
def client_and_server() -> Iterator[tuple[TrainerClient, ApiServer]]:
    with ApiServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        host = Configuration(host=f"http://127.0.0.1:{server.server_port}")
        config = KubernetesBackendConfig(namespace="default", client_configuration=host)
        yield TrainerClient(config), server
        server.shutdown()
        thread.join()


@pytest.fixture
def sent(client_and_server: tuple[TrainerClient, ApiServer]) -> Sent:
    """The TrainJob that the SDK's own client posts."""
    client, server = client_and_server

    def sends(arguments: Mapping[str, Any]) -> dict[str, Any]:
        client.train(**arguments)
        return server.posted[-1]

    return sends


def made(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The TrainJob that we make, without the code of its function, and the job's own Secret."""
    own = own_arguments(arguments)
    name = own.pop("name", None)
    inputs = to_inputs(Arguments(**own))
    metadata = {"name": name} | {each: inputs[each] for each in ("labels", "annotations")}
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {key: value for key, value in metadata.items() if value is not None},
        "spec": inputs["spec"],
    }
    return job, inputs["secretData"]


def problems(arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with arguments, a sentence each."""
    with pytest.raises(InvalidInput) as caught:
        made(arguments)
    return [str(each) for each in caught.value.problems]
