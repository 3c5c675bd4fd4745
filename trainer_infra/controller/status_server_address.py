"""Where training pods report, as the manager's configuration and its certificate say.

The manager asks for it when it renders, and gives it to `render.plugins.train_job_status`. The
certificate's authority may change; then the ConfigMap of each unfinished TrainJob must follow, which
rendering it again does (reference behaviour 3.10).
"""

import base64
import binascii
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render.plugins.train_job_status import StatusServer


@dataclass(frozen=True, slots=True)
class StatusServerPlace:
    """What the configuration says (reference behaviour 8.3)."""

    service: str
    """certManagement.webhookServiceName."""
    secret: str
    """certManagement.webhookSecretName."""
    namespace: str
    """Where the manager runs."""
    port: int | None
    """statusServer.port."""


def status_server_of(place: StatusServerPlace, secret: JSONObject | None) -> StatusServer:
    """Where pods report, and the authority that they trust.

    Args:
        place: of the configuration.
        secret: the certificate's Secret as the API server has it; None when there is none.
    """
    return StatusServer(
        service=place.service,
        namespace=place.namespace,
        port=place.port,
        secret=place.secret,
        ca_crt=None if secret is None else _authority(secret),
    )


def _authority(secret: JSONObject) -> str:
    """PEM text; empty when the Secret has none, or something that is no text."""
    coded = (secret.get("data") or {}).get(names.PROGRESS_CA_KEY) or ""
    try:
        return base64.b64decode(coded, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
