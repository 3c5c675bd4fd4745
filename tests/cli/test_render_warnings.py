"""`trainer-infra render`: what is worth knowing goes to stderr, the objects stay alone on stdout."""

import yaml

from tests.cli.command import Command

DOCUMENTS = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: old, labels: {trainer.kubeflow.org/support: deprecated}}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: busybox}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj}
spec:
  runtimeRef: {name: old}
  runtimePatches:
  - manager: a.io/x
    trainingRuntimeSpec: {template: {metadata: {labels: {team: a}}}}
  - manager: b.io/x
    trainingRuntimeSpec: {template: {metadata: {labels: {team: b}}}}
"""
DEPRECATED = (
    'warning: TrainJob tj: Referenced ClusterTrainingRuntime "old" is deprecated and will be '
    "removed in a future release of Kubeflow Trainer. See runtime deprecation policy: "
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html"
    "#runtime-deprecation-policy\n"
)
OVERRIDDEN = (
    "warning: TrainJob tj: spec.runtimePatches[1] (manager b.io/x) sets "
    "template.metadata.labels.team to 'b', which spec.runtimePatches[0] (manager a.io/x) sets to "
    "'a'; the later one wins\n"
)


def test_warnings_go_to_stderr_and_the_objects_are_printed(cli: Command) -> None:
    done = cli("render", "-f", cli.write("documents.yaml", DOCUMENTS))
    assert (done.code, done.err) == (0, DEPRECATED + OVERRIDDEN)
    *_, jobset = yaml.safe_load_all(done.out)
    assert jobset["metadata"]["labels"] == {"team": "b"}


def test_like_the_reference_nothing_is_said_of_patches(cli: Command) -> None:
    file = cli.write("documents.yaml", DOCUMENTS)
    assert cli("render", "-f", file, "--like-reference").err == DEPRECATED


def test_a_run_says_them_too(cli: Command) -> None:
    with_command = DOCUMENTS.replace("image: busybox", 'image: busybox, command: ["true"]')
    done = cli("run", cli.write("documents.yaml", with_command))
    assert done.code == 0
    assert done.err.startswith(DEPRECATED + OVERRIDDEN)
