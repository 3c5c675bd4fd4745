"""A repository that every gate lets pass, and what people do to it that no gate may let pass."""

from collections.abc import Mapping
from typing import Final

APP: Final = "jobs"
"""The folder that is deployed."""
JOB: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits
  namespace: vision
spec:
  runtimeRef: {name: torch-distributed}
  activeDeadlineSeconds: 3600
  trainer:
    numNodes: 2
    image: registry.example.com/vision/digits@sha256:1111111111111111111111111111111111111111111111111111111111111111
    command: [torchrun, /opt/digits/train.py]
    resourcesPerNode:
      requests: {cpu: 4, memory: 16Gi}
      limits: {cpu: 4, memory: 16Gi}
"""
EVIL: Final = """\
apiVersion: batch/v1
kind: Job
metadata: {name: evil, namespace: vision}
spec:
  template:
    spec:
      restartPolicy: Never
      hostPID: true
      containers:
      - name: a
        image: registry.example.com/vision/a@sha256:1111111111111111111111111111111111111111111111111111111111111111
        securityContext: {privileged: true}
"""
HOST: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: evil
  namespace: vision
  annotations:
    exempt.trainer-infra.dev/host-path: '{owner: me, reason: it is needed, expires: EXPIRES}'
spec:
  containers:
  - name: a
    image: registry.example.com/vision/a@sha256:1111111111111111111111111111111111111111111111111111111111111111
    volumeMounts: [{name: root, mountPath: /host}]
  volumes:
  - name: root
    hostPath: {path: /}
"""
GOOD: Final = {
    "README.md": "# Training\n",
    f"{APP}/digits.yaml": JOB,
    f"{APP}/kustomization.yaml": "resources: [digits.yaml]\nnamespace: vision\n",
}
CHART: Final = {
    f"{APP}/kustomization.yaml": "",
    f"{APP}/Chart.yaml": "apiVersion: v2\nname: jobs\nversion: 0.1.0\n",
    f"{APP}/digits.yaml": "",
}
LISTED: Final = "resources: [digits.yaml, evil.yaml]\nnamespace: vision\n"
_TEMPLATE: Final = EVIL.replace("privileged: true", "privileged: {{ .Values.privileged }}").replace(
    "hostPID: true", "hostPID: false"
)
_COMPONENT: Final = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: TrainJob}
  patch: |
    - op: add
      path: /spec/trainer/env
      value: [{name: HF_TOKEN, value: hf_abcdefghijABCDEFGHIJ0123456789abcd}]
"""
_DELIMITER: Final = """\
resources: [evil.yaml]
replacements:
- source: {kind: Job, name: evil, fieldPath: metadata.name}
  targets:
  - select: {kind: Job}
    fieldPaths: [metadata.labels.m]
    options: {delimiter: ., index: 0}
"""
_PRIVILEGED: Final = """\
resources: [evil.yaml]
patches:
- target: {kind: Job, name: evil}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/securityContext
      value: {privileged: true}
"""
_QUIET: Final = EVIL.replace("hostPID: true", "hostPID: false").replace(
    "privileged: true", "privileged: false"
)
TAMPERED: Final[Mapping[str, Mapping[str, str]]] = {
    "another resource": {f"{APP}/kustomization.yaml": LISTED, f"{APP}/evil.yaml": EVIL},
    "left out by its own policy": {
        f"{APP}/kustomization.yaml": LISTED,
        f"{APP}/evil.yaml": EVIL,
        f"{APP}/trainer-policy.yaml": "exclude: [evil.yaml]\n",
        "trainer-policy.yaml": f"exclude: [{APP}/evil.yaml]\n",
    },
    "a rule turned off": {
        f"{APP}/kustomization.yaml": LISTED,
        f"{APP}/evil.yaml": EVIL,
        "trainer-policy.yaml": (
            "rules: {privileged: {enforcement: off}, host-namespaces: {severity: low}}\n"
        ),
    },
    "another pack": {
        f"{APP}/kustomization.yaml": LISTED,
        f"{APP}/evil.yaml": EVIL,
        "trainer-policy.yaml": "pack: cost\n",
    },
    "exempt in its own policy": {
        f"{APP}/kustomization.yaml": LISTED,
        f"{APP}/evil.yaml": EVIL,
        "trainer-policy.yaml": "exemptions:\n"
        + "".join(
            f"- {{rule: {rule}, owner: me, reason: it is needed, expires: EXPIRES}}\n"
            for rule in ("privileged", "host-namespaces")
        ),
    },
    "exempt by its own annotation": {
        f"{APP}/kustomization.yaml": LISTED,
        f"{APP}/evil.yaml": HOST,
    },
    "a patch": {f"{APP}/kustomization.yaml": _PRIVILEGED, f"{APP}/evil.yaml": _QUIET},
    "a component": {
        f"{APP}/kustomization.yaml": "resources: [digits.yaml]\ncomponents: [../more]\n",
        "more/kustomization.yaml": _COMPONENT,
    },
    "a base in another folder": {
        f"{APP}/kustomization.yaml": "resources: [digits.yaml, ../base]\n",
        "base/kustomization.yaml": "resources: [evil.yaml]\n",
        "base/evil.yaml": EVIL,
    },
    "a word that is a folder too": {
        f"{APP}/kustomization.yaml": _DELIMITER,
        f"{APP}/evil.yaml": EVIL.replace("name: evil,", "name: evil, labels: {m: a.b},"),
    },
    "a chart": {**CHART, f"{APP}/templates/evil.yaml": EVIL},
    "values of a chart": {
        **CHART,
        f"{APP}/templates/evil.yaml": _TEMPLATE,
        f"{APP}/values.yaml": "privileged: true\n",
    },
    "definitions of a chart": {**CHART, f"{APP}/crds/evil.yaml": EVIL},
    "a file that ends in yml": {f"{APP}/kustomization.yaml": "", f"{APP}/evil.yml": EVIL},
    "a list": {
        f"{APP}/kustomization.yaml": "",
        f"{APP}/evil.json": '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", '
        '"kind": "Pod", "metadata": {"name": "evil"}, "spec": {"hostPID": true, "containers": '
        '[{"name": "a", "image": "a:1", "securityContext": {"privileged": true}}]}}]}',
    },
}
"""By what was done: files, of which those that are empty are removed; EXPIRES is a day that is not far."""
