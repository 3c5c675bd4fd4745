"""What kustomize builds is placed in the base and names its layers, what a patch's file sets in that.

The real kustomize builds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.review import checked, trees
from tests.review.overlays import POD, built, layers, place, work
from trainer_infra.review import object_findings, sources
from trainer_infra.review.documents import Document

__all__ = ["work"]


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
    (shown,) = object_findings.place_in_document(web, (*pod, "hostNetwork")).excerpt
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
