"""A secret stands in every place that a user can write one: no report, error, note or warning has its value."""

import re
from collections.abc import Iterator
from itertools import count
from typing import Final

import pytest

from tests.cli.command import Command
from trainer_infra.review.formats import FORMATS

_COUNT: Final = count(10)


def marked() -> str:
    """A password that stands at one place alone."""
    return f"Kirschbaum{next(_COUNT)}Winter"


MARK: Final = re.compile(r"Kirschbaum\d\dWinter")


def token() -> str:
    """A token that does."""
    return f"hf_{marked()}{'aB3dE6gH9j' * 2}"


WRONG_JOB: Final = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: "{token()}"
  namespace: "{token()}"
  labels: {{team: "{token()}"}}
  annotations:
    note: "password={marked()}"
    exempt.trainer-infra.dev/image-digest: '{{owner: "{token()}", reason: "password: {marked()}", expires: never}}'
spec:
  runtimeRef: {{name: "{token()}"}}
  initializer:
    dataset: {{storageUri: "https://team:{marked()}@example.com/x", env: [{{name: HF_TOKEN, value: {marked()}}}]}}
    model: {{storageUri: "nothing://team:{marked()}@example.com"}}
  trainer:
    image: "registry.example.com/{token()}:latest"
    numNodes: "{token()}"
    command: [sh, -c, "curl -u team:{marked()} https://example.com | sh"]
    args: [--password, {marked()}, "--api-key={marked()}", --nproc-per-node, "{token()}"]
    resourcesPerNode: {{limits: {{"nvidia.com/gpu": "{token()}"}}}}
    env:
    - {{name: DB_PASSWORD, value: {marked()}}}
    - {{name: DB_PASSWORD, value: {marked()}, more: "{token()}"}}
    - {{name: "{token()}", value: a}}
    - {{name: PET_NNODES, value: "password={marked()}"}}
  wrong: {{password: {marked()}, deep: [--token, {marked()}]}}
"""
JOB: Final = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: digits}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer:
    image: registry.example.com/train:v1
    command: [torchrun, "--nproc-per-node={token()}", train.py]
    args: [--password, {marked()}, --nope, "--api-key={marked()}"]
    env: [{{name: DB_PASSWORD, value: {marked()}}}]
  runtimePatches:
  - manager: a.io/x
    trainingRuntimeSpec: {{template: {{metadata: {{annotations: {{db-password: {marked()}}}}}}}}}
  - manager: b.io/x
    trainingRuntimeSpec: {{template: {{metadata: {{annotations: {{db-password: {marked()}}}}}}}}}
"""
OTHERS: Final = f"""\
apiVersion: v1
kind: Secret
metadata: {{name: hub, annotations: {{note: "password={marked()}"}}}}
stringData:
  password: {marked()}
  anything: {marked()}
  settings: |
    [db]
    password = {marked()}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data:
  train.py: |
    import os
    os.environ["API_TOKEN"] = "{marked()}"
    login(token="{marked()}")
  db.ini: |
    password = {marked()}
  hub.json: '{{"api_key": "{marked()}"}}'
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: volume}}
spec: {{mountOptions: ["username=team,password={marked()}"]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: flow}}
spec: {{templates: [{{container: {{image: a, env: [{{name: API_KEY, value: {marked()}}}]}}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: pod}}
spec:
  hostNetwork: "{token()}"
  containers:
  - name: a
    image: a
    command: [mysqldump]
    args: [-p{marked()}]
    env: [{{name: DB_PASSWORD, value: {marked()}, valueFrom: {{nope: {{password: {marked()}}}}}}}]
"""
V1_JOB: Final = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: old}}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        metadata: {{annotations: {{db-password: {marked()}}}}}
        spec:
          containers:
          - name: pytorch
            image: i
            command: [python, train.py, --token, {marked()}, --host, old-master-0]
            args: ["--password={marked()}", "--url=https://a:{marked()}@old-worker-0"]
            env: [{{name: DB_PASSWORD, value: {marked()}}}]
    Worker:
      template:
        spec:
          containers:
          - name: pytorch
            image: i
            command: [python, train.py, --token, {marked()}]
            env: [{{name: DB_PASSWORD, value: {marked()}}}, {{name: HF_TOKEN, value: {token()}}}]
"""
REFUSED: Final = V1_JOB.replace(
    "  pytorchReplicaSpecs:", f"  password: {marked()}\n  pytorchReplicaSpecs:"
)
BROKEN: Final = (
    f"a: [password={marked()}\nb: c\n",
    f'{{"password": "{marked()}", "a": }}\n',
    f"a: *{token()}\n",
    f"password: {marked()}\n\tb: c\n",
    f"{WRONG_JOB}  runtimeRef: {{name: {token()}}}\n",
)
POLICY: Final = f"""\
pack: "{token()}"
rules:
  image-registry: {{parameters: {{allow: "{token()}", password: {marked()}}}}}
"""


def told(text: str) -> list[str]:
    return MARK.findall(text)


@pytest.fixture
def repository(cli: Command) -> Command:
    for name, text in {"wrong": WRONG_JOB, "job": JOB, "others": OTHERS}.items():
        cli.write(f"jobs/{name}.yaml", text)
    for index, text in enumerate(BROKEN):
        cli.write(f"jobs/broken-{index}.yaml", text)
    return cli


@pytest.mark.parametrize("form", FORMATS)
def test_no_report_has_one(repository: Command, form: str) -> None:
    done = repository("check", "jobs", "--format", form)
    assert done.code == 3
    assert len(done.out) > 1000
    assert told(done.out + done.err) == []


def test_no_fix_and_no_baseline_has_one(repository: Command) -> None:
    done = repository("check", "jobs", "--fix", "--write-baseline", "baseline.json")
    baseline = (repository.folder / "baseline.json").read_text()
    assert told(done.out + done.err + baseline) == []
    wrong = repository("check", "jobs", "--config", repository.write("policy.yaml", POLICY))
    assert wrong.code == 1
    assert told(wrong.out + wrong.err) == []


def commands() -> Iterator[tuple[str, ...]]:
    for file in ("job", "wrong", "others", *(f"broken-{index}" for index in range(len(BROKEN)))):
        yield "render", "-f", f"jobs/{file}.yaml"
        yield "migrate", f"jobs/{file}.yaml"


def test_no_error_and_no_warning_has_one(repository: Command) -> None:
    said = {words: repository(*words).err for words in commands()}
    assert {words: told(text) for words, text in said.items() if told(text)} == {}
    assert sum(map(bool, said.values())) > len(BROKEN)


@pytest.mark.parametrize("form", ["yaml", "python"])
def test_no_note_of_a_migration_has_one(cli: Command, form: str) -> None:
    done = cli("migrate", cli.write("old.yaml", V1_JOB), "-o", form)
    assert done.code == 0
    assert "is lost" in done.err
    comments = [each for each in done.out.splitlines() if each.startswith("#")]
    assert told("\n".join([done.err, *comments])) == []
    refused = cli("migrate", cli.write("refused.yaml", REFUSED))
    assert (refused.code, told(refused.err)) == (1, [])
