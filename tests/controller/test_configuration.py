"""The reference's configuration file is read, and what cannot be in it is a sentence."""

from pathlib import Path

import pytest

from trainer_infra.controller import configuration
from trainer_infra.errors import InvalidInput, NotAvailable

HEAD = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
SHIPPED = """
webhook: {port: 9443}
metrics: {bindAddress: ":8443", secureServing: true}
health: {healthProbeBindAddress: ":8081", readinessEndpointName: readyz, livenessEndpointName: healthz}
leaderElection:
  leaderElect: true
  resourceName: trainer.kubeflow.org
  resourceNamespace: kubeflow-system
  leaseDuration: 15s
  renewDeadline: 10s
  retryPeriod: 2s
controller:
  groupKindConcurrency:
    TrainJob.trainer.kubeflow.org: 5
    TrainingRuntime.trainer.kubeflow.org: 1
certManagement: {enable: true, webhookServiceName: s, webhookSecretName: c}
clientConnection: {qps: 50, burst: 100}
statusServer: {port: 10443, qps: 5, burst: 10}
featureGates: {TrainJobStatus: true}
tls: {minVersion: VersionTLS12, cipherSuites: [], nextProtos: [http/1.1]}
"""


def read(folder: Path, text: str, gates: str = "") -> configuration.ControllerConfiguration:
    file = folder / "config.yaml"
    file.write_text(text)
    return configuration.read_configuration(file, gates)


def test_the_shipped_file_is_read_as_it_is(tmp_path: Path) -> None:
    found = read(tmp_path, HEAD + SHIPPED)

    assert found.workers == 5
    assert found.has_gate("TrainJobStatus")
    assert (found.client_connection.qps, found.client_connection.burst) == (50, 100)
    assert found.leader_election is not None
    assert configuration.seconds_of(found.leader_election.lease_duration) == 15.0


def test_a_file_with_a_head_alone_has_every_default(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD) == configuration.read_configuration(None)
    assert configuration.read_configuration(None).workers == configuration.WORKERS


def test_gates_of_the_command_line_count_more_than_those_of_the_file(tmp_path: Path) -> None:
    text = HEAD + "featureGates: {TrainJobStatus: true}"
    assert not read(tmp_path, text, "TrainJobStatus=false").has_gate("TrainJobStatus")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "must be an object, got [1, 2]"),
        ("a: [", "is not YAML"),
        ("", "must be one document with apiVersion and kind; it has 0"),
        (HEAD + "---\n" + HEAD, "must be one document with apiVersion and kind; it has 2"),
        ("kind: Configuration", "apiVersion: is required"),
        (HEAD + "health: {}\nhealth: {}", "config.yaml:4:1: health: "),
        (HEAD + "1: {}", "config.yaml:3:1: [1]: a key must be a string"),
        (
            HEAD.replace("v1alpha1", "v2"),
            "apiVersion: must be config.trainer.kubeflow.org/v1alpha1",
        ),
        (HEAD + "webhok: {}", "webhok: unknown field; did you mean webhook?"),
        (HEAD + "webhook: {port: 0}", "webhook.port: must be 1 to 65535, got 0"),
        (HEAD + "webhook: {port: '9443'}", "webhook.port: must be a whole number, got '9443'"),
        (HEAD + "metrics: {bindAddress: here}", "metrics.bindAddress: must be <host>:<port>"),
        (
            HEAD + "clientConnection: {qps: -1}",
            "clientConnection.qps: must not be negative, got -1",
        ),
        (HEAD + "featureGates: {Other: true}", "featureGates[Other]: is not a feature gate"),
        (
            HEAD + "controller: {groupKindConcurrency: {TrainJob.trainer.kubeflow.org: 0}}",
            "controller.groupKindConcurrency[TrainJob.trainer.kubeflow.org]: must be at least 1",
        ),
        (
            HEAD + "leaderElection: {leaderElect: true, leaseDuration: 5s}",
            "leaderElection.leaseDuration: is too short, got '5s'; it must be longer than",
        ),
        (
            HEAD + "leaderElection: {retryPeriod: soon}",
            "leaderElection.retryPeriod: must be a duration, such as 15s, got 'soon'",
        ),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, text)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path / 'config.yaml'}:")


def test_a_file_that_is_not_there_and_a_gate_that_is_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match=r"none\.yaml cannot be read"):
        configuration.read_configuration(tmp_path / "none.yaml")
    with pytest.raises(InvalidInput, match="is not a list of gates"):
        configuration.read_configuration(None, "TrainJobStatus")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15s", 15.0), ("1m30s", 90.0), ("1.5h", 5400.0), ("250ms", 0.25), ("", None), ("5", None)],
)
def test_durations_are_gos(text: str, seconds: float | None) -> None:
    assert configuration.seconds_of(text) == seconds
