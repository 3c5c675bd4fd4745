"""A base with overlays in a folder of a test, built by the real kustomize; and places in what is built."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.review import trees
from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.review import object_findings, sources
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.rules import RULES, tree
from trainer_infra.rules.judge import ConfiguredRule

POD: Final[FieldPath] = (
    *("spec", "template", "spec", "replicatedJobs", 0),
    *("template", "spec", "template", "spec"),
)
TOKEN: Final = "hf_abcdefghijABCDEFGHIJ0123456789abcd"
RUNTIME: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: torch
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                securityContext: {runAsNonRoot: true}
                containers:
                - name: node
                  image: acme/torch:1.0
"""
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: acme/web:1
      - name: side
        image: acme/side:1
"""
BASE: Final = {
    "base/job.yaml": trees.JOB.format(name="digits"),
    "base/runtime.yaml": RUNTIME,
    "base/web.yaml": DEPLOYMENT,
    "base/app.conf": "x = 1\n",
    "base/kustomization.yaml": """\
resources: [job.yaml, runtime.yaml, web.yaml]
configMapGenerator:
- name: settings
  literals:
  - MODE=dev
  files:
  - app.conf
""",
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl_program: Path) -> None:
    """A folder in which the tests are, with a base and nothing on PATH but what builds it."""
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl_program)
    monkeypatch.setenv("PATH", str(programs))
    folder.mkdir()
    monkeypatch.chdir(folder)
    trees.write(BASE, folder)


def built(files: Mapping[str, str], folder: str) -> dict[str, Document]:
    """What a folder builds to, by kind."""
    trees.write(dict(files), Path())
    found = sources.read_sources([folder])
    assert found.problems == ()
    return {each.value["kind"]: each for each in found.documents}


def place(document: Document, *path: str | int) -> str:
    """`file:line` of a path."""
    found = object_findings.place_in_document(document, path)
    return f"{found.file}:{found.line}"


def layers(document: Document, *path: str | int) -> tuple[str, ...]:
    """The layers that a finding at a path names."""
    (subject,) = tree.subjects_of([document.value])
    found = (ConfiguredRule.default(RULES[0]), FieldFinding(path, "is wrong"))
    return object_findings.item_of(
        document, subject, found, None, ReportRedaction.of([(document, subject)])
    ).layers
