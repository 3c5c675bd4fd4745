"""Trainer's controller: it makes JobSets of TrainJobs, and judges TrainJobs and runtimes."""

from collections.abc import Iterator
from typing import Any, Final, Literal, Unpack

import pulumi
from typing_extensions import override

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform import builtin_control_plane
from trainer_infra.platform.builtin_control_plane import VERSION
from trainer_infra.platform.component import Options
from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
)
from trainer_infra.platform.releases import RELEASES
from trainer_infra.platform.trainer_dashboard import BUILTIN_PANELS, PANELS, dashboard_config_map

_LABELS: Final = {
    "app.kubernetes.io/name": "trainer",
    "app.kubernetes.io/component": "manager",
    "app.kubernetes.io/part-of": "kubeflow",
}
_PULLED: Final = ("image", "image_pull_policy", "manifests")
"""Arguments of a program that knows where nodes have the controller's image from."""
_MONITOR: Final = {
    "selector": {"matchLabels": _LABELS},
    "endpoints": [{
        "port": "monitoring-port",
        "scheme": "https",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": True},
    }],
}  # fmt: skip


class TrainerControlPlaneArgs(ControllerArgs, total=False):
    """Arguments of a TrainerControlPlane."""

    implementation: Literal["builtin", "upstream"]
    """`builtin` is the controller of this package, `upstream` Kubeflow's own; `builtin` unless given."""
    service_monitor: bool
    """Whether Prometheus' operator is asked to scrape it; false unless given."""
    alerts: bool
    """Whether Prometheus' operator gets alerts about it, of `builtin`; false unless given."""
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
        names.SYSTEM_NAMESPACE,
        "kubeflow-trainer-controller-manager",
        "kubeflow-trainer-config",
    )

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[TrainerControlPlaneArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        if is_builtin(args) and not any(args.get(each) is not None for each in _PULLED):
            pulumi.log.warn(
                f"{self._where}: image: no registry has {builtin_control_plane.image()}, so nodes that do "
                "not have it cannot start the controller; build it and push it (docs/controller.md, The "
                'image) and name it with image=, or write implementation="upstream"',
                self,
            )

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        yield from super().judge_arguments(args)
        known = [each.version for each in RELEASES if each.project == cls._names.project]
        version = f"v{str(args.get('version', VERSION)).removeprefix('v')}"
        if is_builtin(args) and version in known and version != f"v{VERSION}":
            what = f"is {VERSION} of the builtin controller"
            fix = 'leave it out, or write implementation="upstream"'
            yield Problem("version", what, args["version"], fix)
        if not is_builtin(args) and args.get("alerts"):
            what, fix = "are those of the builtin controller", "leave alerts= out"
            yield Problem("alerts", what, fix=fix)

    @classmethod
    @override
    def _published(cls, args: Any) -> tuple[str, Objects]:
        if is_builtin(args) and "manifests" not in args:
            return VERSION, builtin_control_plane.builtin_objects()
        return super()._published(args)

    @override
    def _configuration(self, args: TrainerControlPlaneArgs) -> JSONObject:
        if "status_server" not in args:
            return {}
        return {"featureGates": {"TrainJobStatus": args["status_server"]}}

    @override
    def _prepared(self, objects: Objects, args: TrainerControlPlaneArgs) -> Objects:
        # A drain of nodes takes its pods one by one.
        budget = {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}}
        made = (*objects, self._object("policy/v1", "PodDisruptionBudget", budget))
        name, namespace = self._names.deployment, self._names.namespace
        if args.get("dashboard"):
            panels = BUILTIN_PANELS if is_builtin(args) else PANELS
            made = (*made, dashboard_config_map(name, namespace, panels))
        if args.get("alerts"):
            labels = f'namespace="{namespace}",service="{name}"'
            spec = {"groups": builtin_control_plane.alert_groups(labels)}
            made = (*made, self._object("monitoring.coreos.com/v1", "PrometheusRule", spec))
        if args.get("service_monitor"):
            monitor = self._object("monitoring.coreos.com/v1", "ServiceMonitor", _MONITOR)
            made = (*map(_labelled_service, made), monitor)
        return made

    def _object(self, api_version: str, kind: str, spec: dict[str, Any]) -> JSONObject:
        metadata = {"name": self._names.deployment, "namespace": self._names.namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def is_builtin(args: Any) -> bool:
    """Whether arguments choose the controller of this package."""
    return bool(args.get("implementation", names.BUILTIN) == names.BUILTIN)


def _labelled_service(value: JSONObject) -> JSONObject:
    """The release's Service has no label that a ServiceMonitor could select."""
    if value["kind"] != "Service":
        return value
    return {**value, "metadata": {**value["metadata"], "labels": _LABELS}}
