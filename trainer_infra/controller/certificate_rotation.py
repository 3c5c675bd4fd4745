"""Keeps the certificates of the manager's webhooks: in its Secret, in their configurations, in its servers.

Every replica runs one; they share the Secret, and each write is of the version that was read, so of
two replicas that renew at once one wins and the other takes what it made. What is due:
`serving_certificate`. Names: reference behaviour 8.2.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from trainer_infra import names
from trainer_infra.controller.serving_certificate import (
    AUTHORITIES,
    AUTHORITY_KEY,
    KEYS,
    SERVER,
    SERVER_KEY,
    CertificatePeriods,
    ServingCertificate,
    due_certificates,
    read_certificates,
)
from trainer_infra.controller.tls_options import ChangingTLSContext
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict, Exists, NotFound
from trainer_infra.kube.resource import SECRET, Resource

MANAGER: Final = "trainer-infra-certificates"
"""The field manager of what is written here."""
_GROUP: Final = "admissionregistration.k8s.io/v1"
MUTATING: Final = Resource(
    _GROUP, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
VALIDATING: Final = Resource(
    _GROUP, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
_UNREADY: Final = 2.0
"""Seconds between two looks until the API server trusts the servers."""
_TRIES: Final = 5
"""Passes without a pause while other replicas write; then they have made what was due."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """What is kept, where, and how often it is looked at."""

    namespace: str = names.SYSTEM_NAMESPACE
    """Of the Secret and of the service."""
    service: str = "kubeflow-trainer-controller-manager"
    """What the API server calls; its names are in the certificate."""
    secret: str = "kubeflow-trainer-webhook-cert"  # noqa: S105  a name
    """Name of the Secret."""
    mutating: str = "defaulter.trainer.kubeflow.org"
    """The MutatingWebhookConfiguration whose webhooks trust the authorities."""
    validating: str = "validator.trainer.kubeflow.org"
    """The same of the ValidatingWebhookConfiguration."""
    periods: CertificatePeriods = field(default_factory=CertificatePeriods)
    interval: float = 30.0
    """Seconds between two looks at the Secret and the configurations."""
    settling: float = 60.0
    """Seconds from a bundle in every configuration until all API servers have heard of it."""

    @property
    def dns_names(self) -> tuple[str, ...]:
        """What the certificate is for."""
        host = f"{self.service}.{self.namespace}.svc"
        return (host, f"{host}.cluster.local")


class CertificateRotation:
    """Runs until it is cancelled; `step` is one look and everything that is due by then."""

    def __init__(
        self, client: KubeClient, tls: ChangingTLSContext, options: CertificateOptions
    ) -> None:
        self._client = client
        self._tls = tls
        self._options = options
        self._known: dict[str, bytes] = {}
        self._injected = b""
        self._absent: set[str] = set()
        self._injected_since = 0.0

    @property
    def authorities(self) -> bytes:
        """PEM of what vouches for the servers: the bundle that pods are given too."""
        return self._known.get(AUTHORITIES, b"")

    @property
    def is_ready(self) -> bool:
        """Whether every webhook that there is trusts what vouches for the servers.

        An installer waits for the controller before it makes webhooks, so it may have none yet.
        """
        return self._tls.is_ready and self._injected == self.authorities

    async def run(self) -> None:
        """Look again and again; an error is logged, and what was shown is shown on."""
        while True:
            try:
                await self.step()
            except (TrainerInfraError, TimeoutError) as error:
                _LOG.warning("the webhooks' certificates cannot be looked after now: %s", error)
            interval = self._options.interval
            whole = self.is_ready and not self._absent
            await asyncio.sleep(interval if whole else min(interval, _UNREADY))

    async def step(self) -> None:
        """Make, show and inject what is due.

        Raises:
            TrainerInfraError: The API server cannot be asked, or refuses.
        """
        for _ in range(_TRIES):
            try:
                if not await self._pass():
                    return
            except (Conflict, Exists):
                _LOG.debug("another replica wrote first")

    async def _pass(self) -> bool:
        """One look; whether something was made, so that it has to go on.

        The configurations are read before the Secret: a replica that knows only an older bundle then
        loses to the one that has put a newer one there.
        """
        configurations = [await self._found(resource, name) for resource, name in self._places()]
        secret = await self._found(SECRET, self._options.secret)
        contents = _contents(secret)
        stored = self._restored(contents)
        if self._read(stored).server is not None:
            try:
                self._tls.show(stored[SERVER], stored[SERVER_KEY])
            except NotAvailable as error:
                _LOG.warning("%s", error)
                stored = {**stored, SERVER: b""}
            else:
                self._known = stored
                await self._inject(configurations, stored[AUTHORITIES])
        due = due_certificates(
            stored,
            self._options.dns_names,
            datetime.now(UTC),
            self._options.periods,
            is_settled=self._is_settled(stored.get(AUTHORITIES, b"")),
        )
        if due == contents:
            return False
        await self._write(secret, due)
        changed = sorted(key for key in due if due[key] != contents.get(key))
        _LOG.info("renewed %s in the Secret %s", ", ".join(changed), self._options.secret)
        return True

    def _restored(self, contents: dict[str, bytes]) -> dict[str, bytes]:
        """The Secret's contents; of one that was deleted or damaged, what servers show all the same.

        Without its key the old authority stays trusted until a new one has taken its place. So
        deleting the Secret renews everything, and no call fails.
        """
        found = self._read(contents)
        if found.signer is None and found.server is None:
            return {key: each for key, each in self._known.items() if key != AUTHORITY_KEY}
        return contents

    def _read(self, contents: Mapping[str, bytes]) -> ServingCertificate:
        return read_certificates(contents, self._options.dns_names, datetime.now(UTC))

    def _is_settled(self, bundle: bytes) -> bool:
        since = time.monotonic() - self._injected_since
        return bundle == self._injected and since >= self._options.settling

    def _places(self) -> tuple[tuple[Resource, str], ...]:
        return ((MUTATING, self._options.mutating), (VALIDATING, self._options.validating))

    async def _found(self, resource: Resource, name: str) -> JSONObject | None:
        namespace = self._options.namespace if resource.namespaced else ""
        try:
            return await self._client.get(resource, name, namespace)
        except NotFound:
            return None

    async def _inject(self, configurations: Sequence[JSONObject | None], bundle: bytes) -> None:
        """Put the bundle into every webhook that has another one."""
        coded = base64.b64encode(bundle).decode()
        for configuration, (resource, name) in zip(configurations, self._places(), strict=True):
            if configuration is None:
                self._note_absent(f"{resource.kind} {name}")
                continue
            self._absent.discard(f"{resource.kind} {name}")
            names = [each["name"] for each in configuration.get("webhooks") or ()]
            if any(_bundle(each) != coded for each in configuration.get("webhooks") or ()):
                webhooks = [{"name": each, "clientConfig": {"caBundle": coded}} for each in names]
                value = {**_head(configuration), "webhooks": webhooks}
                await self._client.apply(value, manager=MANAGER, force=True)
        if bundle != self._injected:
            self._injected, self._injected_since = bundle, time.monotonic()

    def _note_absent(self, what: str) -> None:
        if what not in self._absent:
            _LOG.warning("there is no %s; the API server calls no webhook of it", what)
        self._absent.add(what)

    async def _write(self, secret: JSONObject | None, due: Mapping[str, bytes]) -> None:
        data = {key: base64.b64encode(due[key]).decode() for key in KEYS}
        if secret is None:
            metadata = {"name": self._options.secret, "namespace": self._options.namespace}
            made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            await self._client.create(made, manager=MANAGER)
        else:
            await self._client.apply({**_head(secret), "data": data}, manager=MANAGER, force=True)


def _head(value: JSONObject) -> JSONDict:
    """What an apply of exactly this version of an object begins with."""
    kept = ("name", "namespace", "uid", "resourceVersion")
    metadata = {key: value["metadata"][key] for key in kept if key in value["metadata"]}
    return {"apiVersion": value["apiVersion"], "kind": value["kind"], "metadata": metadata}


def _contents(secret: JSONObject | None) -> dict[str, bytes]:
    """The texts of the Secret; the API server takes nothing that is not a base64."""
    data = (secret or {}).get("data") or {}
    return {key: base64.b64decode(data[key]) for key in KEYS if key in data}


def _bundle(webhook: JSONObject) -> str:
    return str((webhook.get("clientConfig") or {}).get("caBundle") or "")
