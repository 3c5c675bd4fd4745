"""The program that `trainer-infra migrate -o python` writes declares what its YAML says."""

from typing import Any

import yaml

from tests.deploy.project import Stack, until

JOBS = r"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: digits, namespace: vision, labels: {team: "a"}, annotations: {"a": "é ' \" \\ \n"}}
spec:
  runPolicy: {suspend: true, activeDeadlineSeconds: 60, managedBy: kueue.x-k8s.io/multikueue}
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master: &node
      template:
        spec:
          containers:
          - name: pytorch
            image: example.com/torch:1
            command: [bash, -c, 'torchrun --node_rank=$RANK t.py --text "{} \n \t é"']
            env: [{name: EMPTY, value: ""}, {name: TEXT, value: "'''\"\"\" # {a}"}]
            resources: {requests: {cpu: 1, memory: 1Gi}}
    Worker: {<<: *node, replicas: 2}
---
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: digits, namespace: speech}
spec:
  runPolicy: {suspend: true}
  jaxReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: jax, image: i, command: [sleep, "1"]}]}}}
---
kind: TFJob
"""


def test_it_declares_what_the_yaml_says(stack: Stack) -> None:
    (stack.folder / "jobs.yaml").write_text(JOBS)
    written = stack.trainer("migrate", "jobs.yaml", ok=False)
    printed = list(yaml.safe_load_all(written.partition("\njobs.yaml:")[0]))
    program = stack.trainer("migrate", "jobs.yaml", "-o", "python", ok=False)
    (stack.folder / "__main__.py").write_text(program.partition("\njobs.yaml:")[0])

    stack.up()

    found = {each["inputs"]["resource"]: each["inputs"] for each in stack.resources(":TrainJob")}
    assert sorted(found) == ["speech-digits", "vision-digits"]
    for runtime, job in zip(printed[::2], printed[1::2], strict=True):
        declared = found[f"{job['metadata']['namespace']}-digits"]
        assert declared["runtime"] == runtime
        assert without(declared["spec"]) == without(job["spec"])
        assert {key: declared[key] for key in job["metadata"]} == job["metadata"]
    assert "# - spec.managedBy: 'kueue.x-k8s.io/multikueue': is left out" in program
    until(lambda: {run["phase"] for run in stack.runs()} == {"Suspended"})


def without(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without what the resource says by itself, or cannot."""
    return {key: spec[key] for key in spec if key not in {"runtimeRef", "managedBy"}}
