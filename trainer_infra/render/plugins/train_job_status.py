"""TrainJobStatus: training pods learn where to report progress, and get what they need for it.

Off unless a controller lists it (the reference's alpha feature gate): `plugin(server)`. Rules:
reference behaviour 3.10; the protocol: reference behaviour 6.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import child_metadata, trainer_env
from trainer_infra.render.draft import Draft, PodSet, upsert_volumes
from trainer_infra.render.phases import Plugin

TOKEN_SECONDS: Final = 3600
"""How long a service account token is good for; the kubelet renews it in time."""
TOKEN_KEY: Final = "token"  # noqa: S105  a file's name


@dataclass(frozen=True, slots=True)
class StatusServer:
    """Where the controller takes reports, as its configuration says (reference behaviour 8.3)."""

    service: str
    """Name of its Service: certManagement.webhookServiceName."""
    namespace: str
    """Namespace of the controller."""
    port: int | None
    """Port of the Service: statusServer.port; None is refused when a TrainJob is rendered."""
    secret: str
    """Name of the Secret with its certificate: certManagement.webhookSecretName."""
    ca_crt: str | None
    """PEM text of that Secret's `ca.crt`; empty when it has none, None when there is no Secret."""


def plugin(server: StatusServer) -> Plugin:
    """The plugin that reports to `server`.

    Rendering a TrainJob raises InvalidInput when the port or the certificate is missing.
    """
    return Plugin(
        name="TrainJobStatus",
        applies=lambda _: True,
        enforce_pod_spec=partial(_enforce_pod_spec, server),
        build=partial(_build, server),
    )


def audience(draft: Draft) -> str:
    """Whom the token is for: the TrainJob's status, so that one job cannot report for another."""
    return f"{names.API_VERSION}/{_status_path(draft)}"


def _enforce_pod_spec(server: StatusServer, draft: Draft) -> Draft:
    if server.port is None:
        raise _refused("missing status server port")
    if draft.trainer is None:
        return draft
    host = f"{server.service}.{server.namespace}.svc:{server.port}"
    url = f"https://{host}/apis/{names.API_VERSION}/{_status_path(draft)}"
    env = (
        trainer_env.variable(names.PROGRESS_URL, url),
        trainer_env.variable(names.PROGRESS_CA, f"{names.PROGRESS_MOUNT}/{names.PROGRESS_CA_KEY}"),
        trainer_env.variable(names.PROGRESS_TOKEN, f"{names.PROGRESS_MOUNT}/{TOKEN_KEY}"),
    )
    token = {"audience": audience(draft), "expirationSeconds": TOKEN_SECONDS, "path": TOKEN_KEY}
    key = names.PROGRESS_CA_KEY
    name = child_metadata.child_name(draft.job, names.TLS_CONFIG_SUFFIX)
    certificate = {"name": name, "items": [{"key": key, "path": key}]}
    sources = [{"serviceAccountToken": token}, {"configMap": certificate}]
    change = partial(
        _with_reporting, env, {"name": names.PROGRESS_VOLUME, "projected": {"sources": sources}}
    )
    return draft.with_pod_set(draft.trainer.name, change)


def _with_reporting(env: tuple[JSONObject, ...], volume: JSONObject, pod_set: PodSet) -> PodSet:
    mount = {"name": names.PROGRESS_VOLUME, "mountPath": names.PROGRESS_MOUNT, "readOnly": True}
    return replace(
        pod_set,
        containers=tuple(each.plus(env=env, mounts=(mount,)) for each in pod_set.containers),
        volumes=upsert_volumes(pod_set.volumes, (volume,)),
    )


def _build(server: StatusServer, draft: Draft) -> Iterable[JSONObject]:
    if server.ca_crt is None:
        lookup = f'secrets "{server.secret}" not found'
        raise _refused(f"failed to look up status server tls secret: {lookup}")
    if not server.ca_crt:
        raise _refused("failed to find status server ca.crt in tls secret")
    data = {names.PROGRESS_CA_KEY: server.ca_crt}
    yield child_metadata.child_object(draft.job, "ConfigMap", names.TLS_CONFIG_SUFFIX, data=data)


def _refused(what: str) -> InvalidInput:
    return InvalidInput([Problem("", what)])


def _status_path(draft: Draft) -> str:
    namespace = names.namespace_of(draft.job.metadata.namespace)
    return f"namespaces/{namespace}/trainjobs/{draft.job.metadata.name}/status"
