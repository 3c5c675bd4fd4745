"""A Helm chart as objects, by the `helm` of this machine.

Hooks are objects that helm itself makes before or after an installation. A chart that has some is
refused, because without them the installation would be another than its authors mean; or they become
objects as all others, which `install_order` puts where they belong.
"""

import json
import shutil
import subprocess
from typing import Final

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.manifests.install_order import hooks_of
from trainer_infra.platform.manifests.manifest_text import objects_of_text

_TESTS: Final = frozenset({"test", "test-success", "test-failure"})
"""Hooks that run on demand and install nothing."""
_INSTALL: Final = frozenset({"pre-install", "post-install", "pre-upgrade", "post-upgrade"})
"""Hooks whose objects an installation has."""


def installed_objects(chart: HelmChart) -> tuple[JSONObject, ...]:
    """The objects of a chart after its namespace, which helm makes itself."""
    objects = chart_objects(chart)
    known = [each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"]
    if chart.namespace in known:
        return objects
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.namespace}}
    return (namespace, *objects)


def chart_objects(chart: HelmChart) -> tuple[JSONObject, ...]:
    """The objects of a chart, its CRDs among them, in the namespace.

    Raises:
        InvalidInput: The chart has hooks that it may not have.
        NotAvailable: There is no helm, or it refuses the chart or the values.
    """
    helm = shutil.which("helm")
    if helm is None:
        raise NotAvailable(
            f"the chart {chart.reference} is rendered by `helm`, which is not on PATH; install it, or "
            "give the objects as a file: manifests="
        )
    version = ["--version", chart.version] if chart.version else []
    source = ["--repo", chart.repository] if chart.repository else []
    where = ["--namespace", chart.namespace, "--include-crds", "--values", "-", *version, *source]
    done = subprocess.run(
        [helm, "template", chart.release, chart.reference, *where],
        input=json.dumps(chart.values),
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise NotAvailable(f"`helm template {chart.reference}` failed: {done.stderr.strip()}")
    objects = objects_of_text(done.stdout, chart.reference)
    if problems := [problem for each in objects if (problem := _hook_problem(each, chart))]:
        raise InvalidInput(problems)
    return tuple(each for each in objects if not hooks_of(each) or hooks_of(each) & _INSTALL)


def _hook_problem(value: JSONObject, chart: HelmChart) -> Problem | None:
    hooks = hooks_of(value)
    if hooks <= _TESTS or (chart.keeps_hooks and hooks <= _INSTALL):
        return None
    what = f"is a hook of helm ({', '.join(sorted(hooks))}), which only helm runs"
    fix = "switch it off in the values, or run it yourself and give the rest: manifests="
    name = f"{value['kind']} {value['metadata']['name']}"
    return Problem(name, what, fix=fix, where=chart.reference)
