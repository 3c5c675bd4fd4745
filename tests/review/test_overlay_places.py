"""What kustomize builds is placed in the base and names its layers, what a patch's file sets in that.

The real kustomize builds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.review import checked, trees
from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.review import report_item, sources
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
    found = report_item.place_in_document(document, path)
    return f"{found.file}:{found.line}"


def layers(document: Document, *path: str | int) -> tuple[str, ...]:
    """The layers that a finding at a path names."""
    (subject,) = tree.subjects_of([document.value])
    found = (ConfiguredRule.default(RULES[0]), FieldFinding(path, "is wrong"))
    return report_item.item_of(
        document, subject, found, None, ReportRedaction.of([(document, subject)])
    ).layers


def test_the_file_of_a_patch_is_the_place_of_what_it_sets_and_the_base_of_all_else() -> None:
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
    changed = ("dev/kustomization.yaml", "dev/nodes.yaml")
    assert layers(job, "spec", "trainer", "numNodes") == changed
    assert layers(runtime, "spec", "mlPolicy", "numNodes") == changed
    assert layers(job, "spec", "trainer", "image") == ()
    assert layers(found["Deployment"], "spec", "replicas") == ()


def test_items_that_kustomize_merges_by_name_are_placed_each_where_it_is_written() -> None:
    patch = """\
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
    top = "resources: [../base]\npatchesStrategicMerge: [web.yaml]\n"
    web = built({"dev/kustomization.yaml": top, "dev/web.yaml": patch}, "dev")["Deployment"]
    pod = ("spec", "template", "spec")
    lines = {
        each["name"]: place(web, *pod, "containers", index, "image")
        for index, each in enumerate(web.value["spec"]["template"]["spec"]["containers"])
    }
    assert lines == {
        "web": "base/web.yaml:13",
        "side": "dev/web.yaml:10",
        "new": "dev/web.yaml:12",
    }
    assert place(web, *pod, "hostNetwork") == "dev/web.yaml:7"
    (shown,) = report_item.place_in_document(web, (*pod, "hostNetwork")).excerpt
    assert shown == "      hostNetwork: true"


def test_what_a_patch_takes_away_is_placed_there() -> None:
    top = "resources: [../base]\npatches: [{path: web.yaml}]\n"
    patch = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: null}
"""
    found = built({"dev/kustomization.yaml": top, "dev/web.yaml": patch}, "dev")["Deployment"]
    assert "replicas" not in found.value["spec"]
    assert place(found, "spec", "replicas") == "dev/web.yaml:4"


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
""",
    "dev/pods.json": f"""\
[
  {{"op": "add", "path": "/{"/".join(map(str, POD))}/tolerations",
   "value": [{{"key": "spot"}}]}},
  {{"op": "remove", "path": "/{"/".join(map(str, POD))}/securityContext"}}
]
""",
}


def test_what_an_operation_of_a_patch_sets_is_placed_there_and_what_it_takes_away() -> None:
    found = built(JSON_PATCHES, "dev")
    job, runtime = found["TrainJob"], found["TrainingRuntime"]
    assert place(job, "spec", "trainer", "image") == "dev/kustomization.yaml:9"
    assert place(job, "spec", "trainer", "env", 0, "value") == "base/job.yaml:12"
    assert place(job, "spec", "trainer", "env", 1, "value") == "dev/kustomization.yaml:10"
    assert place(runtime, *POD, "tolerations", 0, "key") == "dev/pods.json:3"
    assert place(runtime, *POD, "securityContext") == "dev/pods.json:4"
    changed = ("dev/kustomization.yaml",)
    assert layers(job, "spec", "trainer", "image") == changed
    assert layers(runtime, *POD, "securityContext", "runAsNonRoot") == (*changed, "dev/pods.json")
    assert layers(job, "spec", "trainer", "env", 0, "value") == ()
    # What neither has, no layer took away.
    assert layers(job, "spec", "activeDeadlineSeconds") == ()
    report = checked.of(tuple(found.values()), "image-digest")
    assert [(each.kind, each.got, each.layers) for each in report.items[-1:]] == [
        ("TrainJob", "'acme/train:2'", changed)
    ]


def test_a_secret_of_a_layer_is_found_and_hidden_also_where_another_one_overrules_it() -> None:
    found = built(JSON_PATCHES, "dev")
    (item,) = checked.of(tuple(found.values()), "literal-secrets").items
    assert (item.place.file, item.place.line, item.layers) == (
        "dev/kustomization.yaml",
        10,
        ("dev/kustomization.yaml",),
    )
    assert TOKEN not in str(item)
    patch = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: digits}}
spec: {{trainer: {{image: "acme/train:latest", env: [{{name: TOKEN, value: {TOKEN}}}]}}}}
"""
    over = """\
resources: [../dev]
patches:
- target: {kind: TrainJob}
  patch: |-
    - op: remove
      path: /spec/trainer/env/0
"""
    files = {
        "dev/kustomization.yaml": "resources: [../base]\npatches: [{path: train.yaml}]\n",
        "dev/train.yaml": patch,
        "prod/kustomization.yaml": over,
    }
    report = checked.of(tuple(built(files, "prod").values()), "image-latest", "literal-secrets")
    assert [(each.place.file, each.place.line) for each in report.items] == [("dev/train.yaml", 4)]
    assert TOKEN not in str(report)


def test_a_secret_of_another_field_on_the_line_that_is_shown_is_hidden() -> None:
    other = f'[{{"op": "add", "path": "/x", "value": "{TOKEN}"}}]'
    secret = "secretGenerator: [{name: p, literals: [pw=SummerVision2026]}]"
    patch = f"patches: [{{target: {{kind: A}}, patch: '{other}'}}]"
    top = f"{{resources: [../base], {secret}, {patch}}}\n"
    made = built({"dev/kustomization.yaml": top}, "dev")["Secret"]
    (item,) = checked.of((made,), "literal-secrets").items
    assert (item.place.file, item.place.line) == ("dev/kustomization.yaml", 1)
    assert TOKEN not in str(item)
    assert "SummerVision2026" not in str(item)


def test_what_fields_of_a_kustomization_set_is_placed_there_and_names_in_the_base() -> None:
    top = """\
resources: [../base]
namespace: team-a
nameSuffix: -dev
labels:
- pairs:
    tier: gpu
images:
- name: acme/torch
  newTag: latest
replicas:
- name: web
  count: 7
replacements:
- source: {kind: TrainJob, fieldPath: spec.trainer.image}
  targets:
  - select: {kind: Deployment}
    fieldPaths:
    - "spec.template.spec.containers.[name=side].image"
    options: {delimiter: ., index: 0}
"""
    found = built({"dev/kustomization.yaml": top}, "dev")
    runtime, web = found["TrainingRuntime"], found["Deployment"]
    changed = ("dev/kustomization.yaml",)
    side = ("spec", "template", "spec", "containers", 1, "image")
    for document, path, line in (
        (runtime, ("metadata", "name"), "base/runtime.yaml:4"),
        (runtime, ("metadata", "namespace"), "dev/kustomization.yaml:2"),
        (runtime, ("metadata", "labels", "tier"), "dev/kustomization.yaml:6"),
        (runtime, (*POD, "containers", 0, "image"), "dev/kustomization.yaml:9"),
        (web, ("spec", "replicas"), "dev/kustomization.yaml:12"),
        (web, side, "dev/kustomization.yaml:18"),
    ):
        assert (place(document, *path), layers(document, *path)) == (line, changed)
    assert layers(web, "spec", "selector", "matchLabels", "app") == ()
    (item,) = checked.of((runtime,), "image-latest").items
    assert (item.place.file, item.place.line, item.got) == (
        "dev/kustomization.yaml",
        9,
        "'acme/torch:latest'",
    )


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
- path: nodes.yaml
configMapGenerator:
- name: settings
  behavior: merge
  literals: [MODE=prod]
""",
    "prod/nodes.yaml": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  trainer:
    numNodes: 8
    command: [a]
""",
    "eu/kustomization.yaml": """\
resources: [../prod]
nameSuffix: -eu
patches:
- path: nodes.yaml
""",
    "eu/nodes.yaml": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: prod-digits}
spec:
  trainer:
    numNodes: 16
""",
}


def test_of_several_patches_that_set_a_value_the_outermost_is_its_place() -> None:
    job = built({**LAYERS}, "eu")["TrainJob"]
    assert job.value["metadata"]["name"] == "prod-digits-eu"
    assert place(job, "spec", "trainer", "numNodes") == "eu/nodes.yaml:6"
    assert place(job, "spec", "trainer", "command", 0) == "prod/nodes.yaml:7"
    assert place(job, "metadata", "name") == "base/job.yaml:4"
    # The component takes away what kustomize says of the object: it is found by its name.
    assert place(job, "spec", "trainer", "image") == "spot/kustomization.yaml:7"
    assert place(job, "spec", "trainer", "env", 0, "name") == "base/job.yaml:11"
    assert set(layers(job, "spec", "trainer", "image")) == {
        *("base/kustomization.yaml", "spot/kustomization.yaml", "prod/kustomization.yaml"),
        *("prod/nodes.yaml", "eu/kustomization.yaml", "eu/nodes.yaml"),
    }


def test_a_generated_object_is_placed_at_its_generator() -> None:
    made = built({**LAYERS}, "eu")["ConfigMap"]
    assert place(made) == "base/kustomization.yaml:3"
    assert place(made, "metadata", "labels") == "base/kustomization.yaml:3"
    assert place(made, "data", "MODE") == "prod/kustomization.yaml:9"
    assert place(made, "data", "app.conf") == "base/app.conf:1"
    assert "prod/kustomization.yaml" in layers(made, "data", "MODE")


MANIFESTS: Final = {
    "m/pod.txt": """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  hostPID: true
  containers: [{name: a, image: "acme/a:1"}]
""",
    "m/app.env": "MODE=x\n# none\nTOKEN=TOKEN\n",
    "m/kustomization.yaml": """\
namePrefix: m-
configMapGenerator:
- name: jobs
  files: [job.yaml=pod.txt]
  envs: [app.env]
patches:
- patch: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: jobs}
    data:
      more.yaml: |
        apiVersion: v1
        kind: Pod
        metadata: {name: q}
        spec:
          hostIPC: true
          containers: [{name: a, image: "acme/a:1"}]
""",
}


def test_objects_in_what_a_generator_makes_are_judged_where_they_are_written() -> None:
    files = {name: text.replace("=TOKEN", f"={TOKEN}") for name, text in MANIFESTS.items()}
    trees.write(files, Path())
    found = sources.read_sources(["m"])
    report = checked.of(found.documents, "host-namespaces", "literal-secrets")
    assert [(each.name, each.place.file, each.place.line) for each in report.items] == [
        (found.documents[0].value["metadata"]["name"], "m/app.env", 3),
        ("q", "m/kustomization.yaml", 17),
        ("p", "m/pod.txt", 5),
    ]
    assert [each.inside.partition(": ")[2] for each in report.items] == [
        "",
        "data[more.yaml]",
        "data[job.yaml]",
    ]
    assert TOKEN not in str(report)


def test_a_name_that_kustomize_changes_and_a_custom_resource_does_not_follow_is_found() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: access}\nstringData: {a: changeme}\n"
    runtime = RUNTIME + """\
                  env:
                  - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: MODE}}}
                  - {name: MORE, valueFrom: {configMapKeyRef: {name: more, key: MODE, optional: true}}}
                  envFrom:
                  - secretRef: {name: access}
"""
    web = DEPLOYMENT + "        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: access}}]\n"
    top = """\
resources: [runtime.yaml, web.yaml, access.yaml]
namePrefix: dev-
configMapGenerator:
- {name: settings, literals: [MODE=dev]}
- {name: more, literals: [MODE=dev]}
"""
    files = {"k/kustomization.yaml": top, "k/access.yaml": secret}
    trees.write({**files, "k/runtime.yaml": runtime, "k/web.yaml": web}, Path())
    report = checked.of(sources.read_sources(["k"]).documents, "generated-name")
    assert [(each.kind, each.place.file, each.place.line) for each in report.items] == [
        ("TrainingRuntime", "k/runtime.yaml", 20),
        ("TrainingRuntime", "k/runtime.yaml", 23),
    ]
    configured = (
        "nameReference:\n- kind: ConfigMap\n  fieldSpecs:\n"
        "  - {kind: TrainingRuntime, path: spec/template/spec/replicatedJobs/template/spec/template/spec/containers/env/valueFrom/configMapKeyRef/name}\n"
    )
    trees.write({"k/names.yaml": configured, "k/kustomization.yaml": f"{top}configurations: [names.yaml]\n"}, Path())
    report = checked.of(sources.read_sources(["k"]).documents, "generated-name")
    assert [(each.kind, each.place.line) for each in report.items] == [("TrainingRuntime", 23)]


def test_findings_of_two_overlays_of_one_base_name_each_its_own() -> None:
    files = {
        f"{name}/kustomization.yaml": f"""\
resources: [../base]
nameSuffix: -{name}
patches:
- target: {{kind: TrainJob}}
  patch: |-
    - op: replace
      path: /spec/trainer/image
      value: acme/{name}:{tag}
"""
        for name, tag in (("dev", "latest"), ("prod", "2"))
    }
    trees.write(files, Path())
    expected = [("dev/kustomization.yaml", 8, "digits-dev", ("dev/kustomization.yaml",))]
    found = sources.read_sources(["."])
    assert said(found.documents) == expected
    trees.write({"all/kustomization.yaml": "resources: [../dev, ../prod]\n"}, Path())
    found = sources.read_sources(["."])
    assert len(found.documents) == 8
    assert said(found.documents) == expected


def said(found: Sequence[Document]) -> list[tuple[str, int, str, tuple[str, ...]]]:
    """Place, name and layers of each image that is `latest`."""
    items = checked.of(found, "image-latest").items
    return [(each.place.file, each.place.line, each.name, each.layers) for each in items]
