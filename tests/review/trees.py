"""Folders with a kustomization and with a chart, as people write them."""

from pathlib import Path
from typing import Final

JOB: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}  # ours
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer:
    # see the wiki
    image: acme/train:latest
    env:
    - name: A
      value: "1"
"""
KUSTOMIZATION: Final = {
    "base/kustomization.yaml": "resources: [jobs.yaml, other.yaml]\n",
    "base/jobs.yaml": "---\n".join(JOB.format(name=name) for name in ("digits", "digits-2")),
    "base/other.yaml": JOB.format(name="other"),
    "top/kustomization.yaml": """\
resources: [../base, own.yaml]
nameSuffix: "-2"
namespace: team-a
configMapGenerator:
- name: made
  literals: [a=b]
patches:
- path: env.yaml
""",
    "top/own.yaml": JOB.format(name="own"),
    "top/env.yaml": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits-2
spec:
  trainer:
    env:
    - name: B
      value: hf_abcdefghijABCDEFGHIJ0123456789abcd
""",
}
"""Names of two jobs are alike once a suffix is added."""

CHART: Final = {
    "chart/Chart.yaml": "apiVersion: v2\nname: training\nversion: 0.1.0\n",
    "chart/values.yaml": "image: acme/train:1\nqueue: false\nnames: [a, b]\n",
    "chart/more.yaml": "image: acme/train:latest\nqueue: true\n",
    "chart/templates/_helpers.tpl": '{{- define "name" -}}{{ .Release.Name }}-x{{- end }}\n',
    "chart/templates/job.yaml": """\
{{- /* one job
for all */}}
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {{ include "name" . }}
  {{- if .Values.queue }}
  labels:
    kueue.x-k8s.io/queue-name: main
  {{- end }}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: {{ .Values.image | quote }}
    numNodes: 2
""",
    "chart/templates/many.yaml": """\
{{- range .Values.names }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ . }}
{{- end }}
""",
    "chart/templates/plain.yaml": JOB.format(name="plain"),
}


def write(files: dict[str, str], folder: Path) -> None:
    """Write the files into a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
