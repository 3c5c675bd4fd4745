"""The controller's configuration file: `config.trainer.kubeflow.org/v1alpha1`, kind Configuration.

`read_configuration` takes the file that the reference's manager takes, and refuses what that refuses.
Rules and defaults: reference behaviour 8.3. Where ours differs: nothing limits requests unless
`clientConnection` is given, and `controller.groupKindConcurrency` has an effect.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import Field, StrictBool, StrictInt, StrictStr

from trainer_infra import names
from trainer_infra.api import base, yaml_source
from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, NotAvailable, Problem

API_VERSION: Final = "config.trainer.kubeflow.org/v1alpha1"
KIND: Final = "Configuration"
STATUS_GATE: Final = "TrainJobStatus"
"""The feature gate of the status server."""
GATES: Final = (STATUS_GATE,)
WORKERS: Final = 16
"""TrainJobs that are worked on at a time, unless the file says otherwise."""
TRAIN_JOBS: Final = f"{names.TRAIN_JOB}.{names.GROUP}"
"""The key of TrainJobs in `controller.groupKindConcurrency`."""
_LARGEST_PORT: Final = 65_535
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:h|ms|m|s))+", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)", re.ASCII)
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class WebhookSettings(KubeModel):
    """Where webhooks are served."""

    port: StrictInt = 9443
    """1 to 65535."""
    host: StrictStr = ""
    """Address; empty for all."""


class LeaderElectionSettings(KubeModel):
    """Which of several replicas works."""

    leader_elect: StrictBool = False
    """Whether there may be several."""
    lease_duration: StrictStr = "15s"
    """How long a leader that is not heard of stays one, as Go writes durations."""
    renew_deadline: StrictStr = "10s"
    """How long a leader tries to stay one."""
    retry_period: StrictStr = "2s"
    """Between two tries."""
    resource_lock: StrictStr = "leases"
    """Kind of the lock; only `leases`."""
    resource_name: StrictStr = "trainer.kubeflow.org"
    """Name of the Lease."""
    resource_namespace: StrictStr = ""
    """Its namespace; empty for the controller's own."""


class MetricsSettings(KubeModel):
    """Where Prometheus finds metrics."""

    bind_address: StrictStr = ":8443"
    """`<host>:<port>`; `0` for nowhere."""
    secure_serving: StrictBool = True
    """Whether by HTTPS."""


class HealthSettings(KubeModel):
    """Where the kubelet asks."""

    health_probe_bind_address: StrictStr = ":8081"
    """`<host>:<port>`; `0` for nowhere."""
    readiness_endpoint_name: StrictStr = "readyz"
    """Path of the readiness probe."""
    liveness_endpoint_name: StrictStr = "healthz"
    """Path of the liveness probe."""


class ControllerSettings(KubeModel):
    """How much is done at a time."""

    group_kind_concurrency: Mapping[str, StrictInt] = Field(default_factory=dict)
    """At least 1, by `<Kind>.<group>`."""


class CertificateSettings(KubeModel):
    """Who makes the certificates of the webhooks and of the status server."""

    enable: StrictBool = True
    """Whether the controller makes and renews them."""
    webhook_service_name: StrictStr = "kubeflow-trainer-controller-manager"
    """The Service before the controller."""
    webhook_secret_name: StrictStr = "kubeflow-trainer-webhook-cert"  # noqa: S105  a name
    """The Secret that keeps them."""


class ClientConnectionSettings(KubeModel):
    """How fast the API server is asked."""

    qps: float | None = None
    """Requests per second; None for no limit, 0 for the reference's 50."""
    burst: StrictInt | None = None
    """Requests at once."""


class ReportSettings(KubeModel):
    """Where pods report."""

    port: StrictInt = 10443
    """1 to 65535."""
    qps: float = 5.0
    """Writes per second."""
    burst: StrictInt = 10
    """Writes at once."""


class TLSSettings(KubeModel):
    """What the servers offer."""

    min_version: StrictStr = ""
    """`VersionTLS12` or `VersionTLS13`."""
    cipher_suites: tuple[StrictStr, ...] = ()
    """Names as Go has them."""
    next_protos: tuple[StrictStr, ...] = ("http/1.1",)
    """Protocols by ALPN."""


class ControllerConfiguration(KubeModel):
    """The whole file."""

    api_version: StrictStr
    """Always `config.trainer.kubeflow.org/v1alpha1`."""
    kind: StrictStr
    """Always `Configuration`."""
    webhook: WebhookSettings = WebhookSettings()
    """Webhooks."""
    leader_election: LeaderElectionSettings | None = None
    """None for one replica."""
    metrics: MetricsSettings = MetricsSettings()
    """Metrics."""
    health: HealthSettings = HealthSettings()
    """Probes."""
    controller: ControllerSettings = ControllerSettings()
    """Work at a time."""
    cert_management: CertificateSettings = CertificateSettings()
    """Certificates."""
    client_connection: ClientConnectionSettings = ClientConnectionSettings()
    """Requests to the API server."""
    status_server: ReportSettings = ReportSettings()
    """Reports of pods."""
    feature_gates: Mapping[str, StrictBool] = Field(default_factory=dict)
    """Alpha features by name."""
    tls: TLSSettings = TLSSettings()
    """TLS of all servers."""

    @property
    def workers(self) -> int:
        """TrainJobs that are worked on at a time."""
        return self.controller.group_kind_concurrency.get(TRAIN_JOBS, WORKERS)

    def has_gate(self, name: str) -> bool:
        """Whether a feature is on; all of them are off unless given."""
        return self.feature_gates.get(name, False)


DEFAULT: Final = ControllerConfiguration(api_version=API_VERSION, kind=KIND)


def read_configuration(file: Path | None, gates: str = "") -> ControllerConfiguration:
    """The configuration in a YAML file (None: every default), with the gates of the command line over it.

    Gates are `name=true,other=false`.

    Raises:
        InvalidInput: Something in it cannot be; has every problem.
        NotAvailable: The file cannot be read.
    """
    found = DEFAULT if file is None else _of_file(file)
    given = dict(_gates(gates))
    found = found.model_copy(update={"feature_gates": {**found.feature_gates, **given}})
    problems = tuple(_problems(found))
    if problems:
        where = str(file or "--feature-gates")
        raise InvalidInput(replace(each, where=where) for each in problems)
    return found


def seconds_of(duration: str) -> float | None:
    """Seconds of a duration as Go writes it, such as `1m30s`; None when it is none."""
    if not _DURATION.fullmatch(duration):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))


def _of_file(file: Path) -> ControllerConfiguration:
    where = str(file)
    try:
        documents = yaml_source.read_yaml(file.read_text("utf-8"), where)
    except OSError as error:
        raise NotAvailable(f"the configuration {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem("", f"is not YAML: {error}", where=where)]) from None
    if len(documents) != 1:
        what = f"must be one document with apiVersion and kind; it has {len(documents)}"
        raise InvalidInput([Problem("", what, where=where)])
    source = documents[0]
    if source.findings:
        raise InvalidInput(source.problem(each) for each in source.findings)
    if not isinstance(source.value, Mapping):
        raise InvalidInput([Problem("", "must be an object", got=source.value, where=where)])
    try:
        return ControllerConfiguration(**base.without_nulls(source.value))
    except InvalidInput as error:
        raise InvalidInput(replace(each, where=where) for each in error.problems) from None


def _gates(text: str) -> Iterator[tuple[str, bool]]:
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = each.partition("=")
        if value.lower() not in {"true", "false"}:
            fix = "write name=true or name=false"
            raise InvalidInput([Problem("--feature-gates", "is not a list of gates", each, fix)])
        yield name.strip(), value.lower() == "true"


def _problems(found: ControllerConfiguration) -> Iterator[Problem]:
    for path, value, is_good, what in _limits(found):
        if not is_good:
            yield Problem(path, what, got=value)
    for gate in found.feature_gates:
        if gate not in GATES:
            fix = f"known are {', '.join(GATES)}"
            yield Problem(f"featureGates[{gate}]", "is not a feature gate", fix=fix)
    if found.leader_election is not None:
        yield from _election_problems(found.leader_election)


def _limits(found: ControllerConfiguration) -> Iterator[tuple[str, object, bool, str]]:
    """Fields by path, each with its value, whether that can be, and what it must be."""
    connection, reports = found.client_connection, found.status_server
    yield (
        "apiVersion",
        found.api_version,
        found.api_version == API_VERSION,
        f"must be {API_VERSION}",
    )
    yield "kind", found.kind, found.kind == KIND, f"must be {KIND}"
    for path, port in (("webhook.port", found.webhook.port), ("statusServer.port", reports.port)):
        yield path, port, 1 <= port <= _LARGEST_PORT, f"must be 1 to {_LARGEST_PORT}"
    for kind, number in found.controller.group_kind_concurrency.items():
        path = f"controller.groupKindConcurrency[{kind}]"
        yield path, number, number >= 1, "must be at least 1"
    for path, rate in (
        ("clientConnection.qps", connection.qps),
        ("clientConnection.burst", connection.burst),
        ("statusServer.qps", reports.qps),
        ("statusServer.burst", reports.burst),
    ):
        yield path, rate, rate is None or rate >= 0, "must not be negative"
    for path, address in (
        ("metrics.bindAddress", found.metrics.bind_address),
        ("health.healthProbeBindAddress", found.health.health_probe_bind_address),
    ):
        is_one = address == "0" or address_of(address) is not None
        yield path, address, is_one, "must be <host>:<port>, :<port> or 0"


def address_of(text: str) -> tuple[str, int] | None:
    """Host and port of `<host>:<port>`; None when it is none. An empty host means all addresses."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LARGEST_PORT:
        return None
    return host.strip("[]"), int(port)


def _election_problems(found: LeaderElectionSettings) -> Iterator[Problem]:
    if found.resource_lock != "leases":
        yield Problem("leaderElection.resourceLock", "must be leases", got=found.resource_lock)
    texts = {
        "leaseDuration": found.lease_duration,
        "renewDeadline": found.renew_deadline,
        "retryPeriod": found.retry_period,
    }
    for name, text in texts.items():
        if not seconds_of(text):
            yield Problem(f"leaderElection.{name}", "must be a duration, such as 15s", got=text)
    lease, renew, retry = (seconds_of(text) or 0.0 for text in texts.values())
    if lease and renew and lease <= renew:
        fix = f"it must be longer than renewDeadline, {found.renew_deadline}"
        yield Problem("leaderElection.leaseDuration", "is too short", found.lease_duration, fix)
    if renew and retry and renew <= retry:
        fix = f"it must be longer than retryPeriod, {found.retry_period}"
        yield Problem("leaderElection.renewDeadline", "is too short", found.renew_deadline, fix)
