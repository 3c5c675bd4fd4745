"""What an overlay sets is placed in the overlay; the real kustomize builds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.review import checked, trees
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.review import report_item, sources
from trainer_infra.review.documents import Document

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
    found = report_item.place_in_document(document, path)
    return f"{found.file}:{found.line}"


def test_a_strategic_merge_patch_is_the_place_of_what_it_sets_and_the_base_of_all_else() -> None:
    patch = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  trainer:
    numNodes: 3
    env:
    - name: B
      value: x
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy:
    numNodes: 4
"""
    top = "resources: [../base]\npatches: [{path: nodes.yaml}]\n"
    found = built({"dev/kustomization.yaml": top, "dev/nodes.yaml": patch}, "dev")
    job, runtime = found["TrainJob"], found["TrainingRuntime"]
    assert place(job, "spec", "trainer", "numNodes") == "dev/nodes.yaml:6"
    assert place(job, "spec", "trainer", "env", 0, "value") == "dev/nodes.yaml:9"
    assert place(job, "spec", "trainer", "image") == "base/job.yaml:9"
    assert place(job, "spec", "trainer", "resourcesPerNode", "limits") == "base/job.yaml:7"
    assert [place(job, each) for each in ("apiVersion", "kind")] == [
        "base/job.yaml:1",
        "base/job.yaml:2",
    ]
    assert place(runtime, "spec", "mlPolicy", "numNodes") == "dev/nodes.yaml:16"
    assert place(runtime, *POD, "containers", 0, "image") == "base/runtime.yaml:18"
    assert place(found["Deployment"], "spec", "replicas") == "base/web.yaml:6"


def test_items_that_kustomize_merges_by_name_are_placed_each_where_it_is_written() -> None:
    top = """\
resources: [../base]
patchesStrategicMerge:
- |-
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
      spec:
        hostNetwork: true
        containers:
        - name: side
          image: acme/side:2
        - name: new
          image: acme/new:2
"""
    web = built({"dev/kustomization.yaml": top}, "dev")["Deployment"]
    pod = ("spec", "template", "spec")
    lines = {
        each["name"]: place(web, *pod, "containers", index, "image")
        for index, each in enumerate(web.value["spec"]["template"]["spec"]["containers"])
    }
    assert lines == {
        "web": "base/web.yaml:13",
        "side": "dev/kustomization.yaml:13",
        "new": "dev/kustomization.yaml:15",
    }
    assert place(web, *pod, "hostNetwork") == "dev/kustomization.yaml:10"
    (shown,) = report_item.place_in_document(web, (*pod, "hostNetwork")).excerpt
    assert shown == "        hostNetwork: true"


JSON_PATCHES: Final = {
    "dev/kustomization.yaml": f"""\
resources: [../base]
patches:
- path: pods.json
  target: {{kind: TrainingRuntime, name: torch}}
- target: {{group: trainer.kubeflow.org, kind: TrainJob, name: dig.*}}
  patch: |-
    - op: replace
      path: /spec/trainer/image
      value: acme/train:2
    - {{op: add, path: /spec/trainer/env/-, value: {{name: TOKEN, value: {TOKEN}}}}}
- target: {{kind: Deployment, labelSelector: team=b}}
  patch: '[{{"op": "replace", "path": "/spec/replicas", "value": 9}}]'
- target: {{kind: Deployment}}
  patch: '[{{"op": "replace", "path": "/spec/replicas", "value": 2}}]'
""",
    "dev/pods.json": f"""\
[
  {{"op": "add", "path": "/{"/".join(map(str, POD))}/tolerations",
   "value": [{{"key": "spot"}}]}},
  {{"op": "remove", "path": "/{"/".join(map(str, POD))}/securityContext"}}
]
""",
}


def test_operations_of_a_json_patch_are_the_places_of_what_they_set_and_remove() -> None:
    found = built(JSON_PATCHES, "dev")
    job, runtime, web = (found[each] for each in ("TrainJob", "TrainingRuntime", "Deployment"))
    assert place(job, "spec", "trainer", "image") == "dev/kustomization.yaml:9"
    assert place(job, "spec", "trainer", "env", 1, "value") == "dev/kustomization.yaml:10"
    assert place(job, "spec", "trainer", "env", 0, "value") == "base/job.yaml:12"
    assert place(runtime, *POD, "tolerations", 0, "key") == "dev/pods.json:3"
    assert place(runtime, *POD, "securityContext", "runAsNonRoot") == "dev/pods.json:4"
    assert place(web, "spec", "replicas") == "dev/kustomization.yaml:14"


def test_a_secret_that_a_patch_has_is_found_there_and_hidden_where_another_one_overrules_it() -> (
    None
):
    found = built(JSON_PATCHES, "dev")
    (item,) = checked.of(tuple(found.values()), "literal-secrets").items
    assert (item.place.file, item.place.line, item.place.column) == (
        "dev/kustomization.yaml",
        10,
        65,
    )
    assert TOKEN not in str(item)
    over = """\
resources: [../dev]
patches:
- target: {kind: TrainJob}
  patch: |-
    - op: remove
      path: /spec/trainer/env/1
    - op: add
      path: /spec/trainer/command
      value: [a]
"""
    text = JSON_PATCHES["dev/kustomization.yaml"].replace("acme/train:2", "acme/train:latest")
    files = {**JSON_PATCHES, "dev/kustomization.yaml": text, "prod/kustomization.yaml": over}
    report = checked.of(tuple(built(files, "prod").values()), "image-latest", "literal-secrets")
    assert [(each.place.file, each.place.line) for each in report.items] == [
        ("dev/kustomization.yaml", 9)
    ]
    assert TOKEN not in str(report)


def test_a_secret_of_another_patch_on_the_line_that_is_shown_is_hidden() -> None:
    operation = '{{"op": "add", "path": "/spec/trainer/{}", "value": "{}"}}'
    ours, other = operation.format("image", "acme/new:latest"), operation.format("x", TOKEN)
    top = f"""\
resources: [../base]
patches: [{{target: {{kind: TrainJob}}, patch: '[{ours}]'}}, {{target: {{kind: A}}, patch: '[{other}]'}}]
"""
    job = built({"dev/kustomization.yaml": top}, "dev")["TrainJob"]
    (item,) = checked.of((job,), "image-latest").items
    assert (item.place.file, item.place.line) == ("dev/kustomization.yaml", 2)
    assert TOKEN not in str(item)


def test_fields_of_a_kustomization_are_the_places_of_what_they_set() -> None:
    top = """\
resources: [../base]
namespace: team-a
nameSuffix: -dev
commonLabels:
  env: dev
labels:
- pairs:
    tier: gpu
commonAnnotations:
  owner: team-a
images:
- name: acme/torch
  newTag: latest
- name: acme/web
  newName: mirror/web
  newTag: "2"
replicas:
- name: web
  count: 7
replacements:
- source: {kind: TrainJob, fieldPath: spec.trainer.image}
  targets:
  - select: {kind: Deployment}
    fieldPaths:
    - "spec.template.spec.containers.[name=side].image"
"""
    found = built({"dev/kustomization.yaml": top}, "dev")
    runtime, web = found["TrainingRuntime"], found["Deployment"]

    def line(document: Document, *path: str | int) -> int:
        file, _, number = place(document, *path).rpartition(":")
        assert file == "dev/kustomization.yaml"
        return int(number)

    assert line(runtime, "metadata", "namespace") == 2
    assert line(runtime, "metadata", "name") == 3
    assert line(runtime, "metadata", "labels", "env") == 5
    assert line(web, "spec", "selector", "matchLabels", "env") == 5
    assert line(web, "metadata", "labels", "tier") == 8
    assert line(web, "spec", "template", "metadata", "annotations", "owner") == 10
    assert line(runtime, *POD, "containers", 0, "image") == 13
    assert line(web, "spec", "replicas") == 19
    images = {
        each["name"]: line(web, "spec", "template", "spec", "containers", index, "image")
        for index, each in enumerate(web.value["spec"]["template"]["spec"]["containers"])
    }
    assert images == {"web": 14, "side": 25}
    assert place(web, "spec", "selector", "matchLabels", "app") == "base/web.yaml:7"
    report = checked.of((runtime,), "image-latest")
    assert checked.places(report)[0][1:3] == ("dev/kustomization.yaml", 13)


def test_what_is_not_in_the_kustomization_itself_is_placed_in_its_own_file() -> None:
    files = {
        "dev/kustomization.yaml": """\
bases: [../base]
replacements: [{path: list.yaml}, {path: one.yaml}]
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: web}
  path: volumes.yaml
""",
        "dev/list.yaml": """\
- source: {kind: TrainJob, fieldPath: spec.trainer.image}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [spec.template.spec.containers.0.image]
""",
        "dev/one.yaml": """\
source: {kind: TrainJob, fieldPath: metadata.name}
targets:
- select: {kind: Deployment}
  fieldPaths: ["metadata.labels.[app.io/job]", 'metadata.annotations.app\\.io/job']
  options: {create: true}
""",
        "dev/volumes.yaml": """\
- op: add
  path: /spec/template/spec/volumes
  value: [{name: a, hostPath: {path: /etc}}]
- {op: copy, from: /spec/template/spec/volumes/0, path: /spec/template/spec/volumes/-}
- {op: replace, path: /spec/template/spec/volumes/1/name, value: b}
""",
    }
    web = built(files, "dev")["Deployment"]
    pod = ("spec", "template", "spec")
    assert place(web, *pod, "containers", 0, "image") == "dev/list.yaml:4"
    assert place(web, *pod, "containers", 1, "image") == "base/web.yaml:15"
    assert place(web, "metadata", "annotations", "app.io/job") == "dev/one.yaml:4"
    assert place(web, *pod, "volumes", 0, "hostPath", "path") == "dev/volumes.yaml:3"
    assert place(web, *pod, "volumes", 1, "name") == "dev/volumes.yaml:5"


LAYERS: Final = {
    "spot/kustomization.yaml": """\
kind: Component
apiVersion: kustomize.config.k8s.io/v1alpha1
patches:
- target: {kind: TrainJob}
  patch: |-
    - {op: add, path: /metadata/annotations, value: {spot: "yes"}}
    - {op: replace, path: /spec/trainer/image, value: "acme/train:3"}
""",
    "prod/kustomization.yaml": """\
resources: [../base]
components: [../spot]
namePrefix: prod-
patches:
- target: {kind: TrainJob}
  patch: |-
    - {op: add, path: /spec/trainer/numNodes, value: 8}
    - {op: add, path: /spec/trainer/command, value: [a]}
configMapGenerator:
- name: settings
  behavior: merge
  literals: [MODE=prod]
""",
    "eu/kustomization.yaml": """\
resources: [../prod]
nameSuffix: -eu
patches:
- patch: |-
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: prod-digits}
    spec:
      trainer:
        numNodes: 16
""",
}


def test_the_outermost_of_several_layers_that_sets_a_value_is_its_place() -> None:
    job = built({**LAYERS}, "eu")["TrainJob"]
    assert job.value["metadata"]["name"] == "prod-digits-eu"
    assert place(job, "spec", "trainer", "numNodes") == "eu/kustomization.yaml:10"
    assert place(job, "spec", "trainer", "command", 0) == "prod/kustomization.yaml:8"
    assert place(job, "metadata", "name") == "eu/kustomization.yaml:2"
    # The component takes away what kustomize says of the object: it is found by its name.
    assert place(job, "metadata", "annotations", "spot") == "spot/kustomization.yaml:6"
    assert place(job, "spec", "trainer", "image") == "spot/kustomization.yaml:7"
    assert place(job, "spec", "trainer", "env", 0, "name") == "base/job.yaml:11"


def test_a_generated_object_is_placed_at_its_generator_and_its_data_at_their_lines() -> None:
    made = built({**LAYERS}, "eu")["ConfigMap"]
    assert place(made) == "base/kustomization.yaml:3"
    assert place(made, "metadata", "labels") == "base/kustomization.yaml:3"
    assert place(made, "data", "MODE") == "prod/kustomization.yaml:12"
    assert place(made, "data", "app.conf") == "base/kustomization.yaml:7"


def test_two_overlays_of_one_base_each_have_their_own_places() -> None:
    files = {
        f"{name}/kustomization.yaml": f"""\
resources: [../base]
nameSuffix: -{name}
patches:
- target: {{kind: TrainJob}}
  patch: |-
    - op: replace
      path: /spec/trainer/image
      value: acme/train:{tag}
"""
        for name, tag in (("dev", "latest"), ("prod", "2"))
    }
    trees.write(files, Path())
    found = sources.read_sources(["."])
    report = checked.of(found.documents, "image-latest")
    assert [each[1:3] for each in checked.places(report)] == [("dev/kustomization.yaml", 8)]
    trees.write({"all/kustomization.yaml": "resources: [../dev, ../prod]\n"}, Path())
    found = sources.read_sources(["."])
    assert len(found.documents) == 8
    report = checked.of(found.documents, "image-latest")
    assert [each[1:3] for each in checked.places(report)] == [("dev/kustomization.yaml", 8)]
