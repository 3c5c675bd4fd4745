"""Grafana's dashboard of Trainer's controller: what its metrics say of TrainJobs, as one ConfigMap.

Grafana's sidecar reads every ConfigMap with the label `grafana_dashboard`. The metrics of Kubeflow's
controller are those of controller-runtime; tests/e2e/disruptive/test_platform.py asks a controller that
runs for each of them.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from trainer_infra.json_values import JSONObject

LABEL: Final = "grafana_dashboard"
"""Of a ConfigMap that Grafana's sidecar reads."""
_WIDTH: Final = 12
"""Columns of a panel; a row has 24."""
_HEIGHT: Final = 8


class Panel(NamedTuple):
    """One graph."""

    title: str
    unit: str
    """As Grafana names it."""
    legend: str
    query: str
    """In PromQL; SELECT stands for the labels that choose the controller's pods."""


def _rate(metric: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) (rate({metric}{{SELECT}}[$__rate_interval]))"


def _quantile(part: float, metric: str, *labels: str) -> str:
    """The value under which that part of a histogram is."""
    return f"histogram_quantile({part}, {_rate(f'{metric}_bucket', *labels, 'le')})"


_MEMORY: Final = Panel(
    "Memory", "bytes", "{{pod}}", "max by (pod) (process_resident_memory_bytes{SELECT})"
)
PANELS: Final = (
    Panel("Reconciles per second, by result", "ops", "{{controller}} {{result}}",
          _rate("controller_runtime_reconcile_total", "controller", "result")),
    Panel("Reconcile time, 99 of 100 are quicker", "s", "{{controller}}",
          _quantile(0.99, "controller_runtime_reconcile_time_seconds", "controller")),
    Panel("Objects that wait for a reconcile", "short", "{{name}}",
          "sum by (name) (workqueue_depth{SELECT})"),
    Panel("Workers in use, of all", "percentunit", "{{controller}}",
          "sum by (controller) (controller_runtime_active_workers{SELECT}) / "
          "sum by (controller) (controller_runtime_max_concurrent_reconciles{SELECT})"),
    Panel("Webhook time, 99 of 100 are quicker", "s", "{{webhook}}",
          _quantile(0.99, "controller_runtime_webhook_latency_seconds", "webhook")),
    Panel("Requests to the API server per second, by answer", "ops", "{{method}} {{code}}",
          _rate("rest_client_requests_total", "method", "code")),
    Panel("The pod that leads", "short", "{{pod}}",
          "max by (pod) (leader_election_master_status{SELECT})"),
    _MEMORY,
)  # fmt: skip
"""Of Kubeflow's controller, in the order of the page, two in a row."""
BUILTIN_PANELS: Final = (
    Panel("TrainJobs, by state", "short", "{{state}}",
          "max by (state) (trainer_controller_trainjobs{SELECT})"),
    Panel("Seconds from created to JobSet, 99 of 100 are quicker", "s", "created to JobSet",
          _quantile(0.99, "trainer_controller_trainjob_jobset_created_seconds")),
    Panel("Seconds from created to running, half are quicker", "s", "created to running",
          _quantile(0.5, "trainer_controller_trainjob_running_seconds")),
    Panel("Seconds from created to finished, half are quicker", "s", "created to finished",
          _quantile(0.5, "trainer_controller_trainjob_finished_seconds")),
    Panel("Looks per second", "ops", "{{pod}}",
          _rate("trainer_controller_reconcile_seconds_count", "pod")),
    Panel("Time of a look, 99 of 100 are quicker", "s", "time of a look",
          _quantile(0.99, "trainer_controller_reconcile_seconds")),
    Panel("TrainJobs that wait for a worker", "short", "{{pod}}",
          "max by (pod) (trainer_controller_queue_depth{SELECT})"),
    Panel("TrainJobs at which the last look failed", "short", "{{pod}}",
          "max by (pod) (trainer_controller_queue_failing{SELECT})"),
    Panel("Errors per second, by reason", "ops", "{{reason}}",
          _rate("trainer_controller_reconcile_errors_total", "reason")),
    Panel("Webhook time, 99 of 100 are quicker", "s", "{{webhook}}",
          _quantile(0.99, "trainer_controller_webhook_seconds", "webhook")),
    Panel("Reviews per second, by answer", "ops", "{{code}}",
          _rate("trainer_controller_webhook_seconds_count", "code")),
    _MEMORY,
)  # fmt: skip
"""Of the controller of this package."""


def dashboard_config_map(name: str, namespace: str, panels: Sequence[Panel]) -> JSONObject:
    """The dashboard of the controller whose Service has this name; the ConfigMap's begins with it."""
    labels = f'namespace="{namespace}", service="{name}"'
    page = {
        "uid": name,
        "title": "Kubeflow Trainer",
        "tags": ["kubeflow", "trainer"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(number, panel, labels) for number, panel in enumerate(panels)],
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-dashboard", "namespace": namespace, "labels": {LABEL: "1"}},
        "data": {"kubeflow-trainer.json": json.dumps(page, indent=2)},
    }


def _panel(number: int, panel: Panel, labels: str) -> dict[str, Any]:
    row, column = divmod(number, 2)
    expression = panel.query.replace("SELECT", labels)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": expression, "legendFormat": panel.legend}],
    }
