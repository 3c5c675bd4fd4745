"""A Helm chart as objects, by the `helm` of this machine.

Hooks are jobs that helm itself runs around an installation; a chart that needs one is refused, because
without it the installation would be another than its authors mean.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.manifests.manifest_text import objects_of_text

_HOOK: Final = "helm.sh/hook"
_TESTS: Final = frozenset({"test", "test-success", "test-failure"})
"""Hooks that run on demand and install nothing."""


@dataclass(frozen=True, slots=True)
class HelmChart:
    """A chart and its values."""

    reference: str
    """A folder, an archive, `oci://HOST/PATH`, or `REPOSITORY/NAME` that helm knows."""
    release: str
    """Name of the installation, which charts put into the names of objects."""
    namespace: str
    version: str = ""
    """Empty for a folder or an archive."""
    values: JSONObject = field(default_factory=dict, hash=False)


def chart_objects(chart: HelmChart) -> tuple[JSONObject, ...]:
    """The objects of a chart, its CRDs among them, in the namespace.

    Raises:
        InvalidInput: The chart has hooks.
        NotAvailable: There is no helm, or it refuses the chart or the values.
    """
    helm = shutil.which("helm")
    if helm is None:
        raise NotAvailable(
            f"the chart {chart.reference} is rendered by `helm`, which is not on PATH; install it, or "
            "give the objects as a file: manifests="
        )
    version = ["--version", chart.version] if chart.version else []
    where = ["--namespace", chart.namespace, "--include-crds", "--values", "-", *version]
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
    return tuple(each for each in objects if not _hooks(each))


def _hooks(value: JSONObject) -> set[str]:
    annotations = value["metadata"].get("annotations") or {}
    return {each.strip() for each in annotations.get(_HOOK, "").split(",")} - {""}


def _hook_problem(value: JSONObject, chart: HelmChart) -> Problem | None:
    hooks = _hooks(value)
    if hooks <= _TESTS:
        return None
    what = f"is a hook of helm ({', '.join(sorted(hooks))}), which only helm runs"
    fix = "switch it off in the values, or run it yourself and give the rest: manifests="
    name = f"{value['kind']} {value['metadata']['name']}"
    return Problem(name, what, fix=fix, where=chart.reference)
