"""Trainer's controller: it makes JobSets of TrainJobs, and judges TrainJobs and runtimes."""

from typing import Any, Final, Literal, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
)
from trainer_infra.platform.trainer_dashboard import dashboard_config_map

_LABELS: Final = {
    "app.kubernetes.io/name": "trainer",
    "app.kubernetes.io/component": "manager",
    "app.kubernetes.io/part-of": "kubeflow",
}


class TrainerControlPlaneArgs(ControllerArgs, total=False):
    """Arguments of a TrainerControlPlane."""

    implementation: Literal["upstream"]
    """`upstream` is Kubeflow's own controller."""
    service_monitor: bool
    """Whether Prometheus' operator is asked to scrape it; false unless given."""
    dashboard: bool
    """Whether Grafana gets a dashboard of these metrics, as a ConfigMap; false unless given."""
    status_server: bool
    """Whether pods of a TrainJob may report their progress to it, the feature gate `TrainJobStatus`;
    as the release has it unless given."""


class TrainerControlPlane(ControllerComponent):
    """Trainer's CRDs, controller, rights, webhooks, configuration and version."""

    _arguments = TrainerControlPlaneArgs
    _names = ControllerNames(
        "Trainer",
        "kubeflow-system",
        "kubeflow-trainer-controller-manager",
        "kubeflow-trainer-config",
        "controller_manager_config.yaml",
    )

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TrainerControlPlaneArgs],
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `TrainerControlPlaneArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _configuration(self, args: TrainerControlPlaneArgs) -> JSONObject:
        if "status_server" not in args:
            return {}
        return {"featureGates": {"TrainJobStatus": args["status_server"]}}

    @override
    def _prepared(self, objects: Objects, args: TrainerControlPlaneArgs) -> Objects:
        made = (*objects, self._disruption_budget())
        if args.get("dashboard"):
            made = (*made, dashboard_config_map(self._names.deployment, self._names.namespace))
        if args.get("service_monitor"):
            made = (*map(_labelled_service, made), self._service_monitor())
        return made

    def _disruption_budget(self) -> JSONObject:
        """A drain of nodes takes its pods one by one."""
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}}
        return self._object("policy/v1", "PodDisruptionBudget", spec)

    def _service_monitor(self) -> JSONObject:
        spec = {
            "selector": {"matchLabels": _LABELS},
            "endpoints": [{
                "port": "monitoring-port",
                "scheme": "https",
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "tlsConfig": {"insecureSkipVerify": True},
            }],
        }  # fmt: skip
        return self._object("monitoring.coreos.com/v1", "ServiceMonitor", spec)

    def _object(self, api_version: str, kind: str, spec: dict[str, Any]) -> JSONObject:
        metadata = {"name": self._names.deployment, "namespace": self._names.namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _labelled_service(value: JSONObject) -> JSONObject:
    """The release's Service has no label that a ServiceMonitor could select."""
    if value["kind"] != "Service":
        return value
    return {**value, "metadata": {**value["metadata"], "labels": _LABELS}}
