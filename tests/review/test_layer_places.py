"""What a kustomization sets by itself is placed where it says so: inline patches, operations, fields, generators.

The real kustomize builds.
"""

from pathlib import Path
from typing import Final

from tests.review import checked, trees
from tests.review.overlays import DEPLOYMENT, POD, RUNTIME, TOKEN, built, layers, place, work
from trainer_infra.review import sources

__all__ = ["work"]

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
    runtime = (
        RUNTIME
        + """\
                  env:
                  - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: MODE}}}
                  - {name: MORE, valueFrom: {configMapKeyRef: {name: more, key: MODE, optional: true}}}
                  envFrom:
                  - secretRef: {name: access}
"""
    )
    web = (
        DEPLOYMENT
        + "        envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: access}}]\n"
    )
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
    trees.write(
        {
            "k/names.yaml": configured,
            "k/kustomization.yaml": f"{top}configurations: [names.yaml]\n",
        },
        Path(),
    )
    report = checked.of(sources.read_sources(["k"]).documents, "generated-name")
    assert [(each.kind, each.place.line) for each in report.items] == [("TrainingRuntime", 23)]


def test_what_transformers_do_is_placed_in_their_files_and_texts() -> None:
    files = {
        "dev/kustomization.yaml": """\
resources: [../base]
transformers:
- patch.yaml
- |-
  apiVersion: builtin
  kind: ImageTagTransformer
  metadata: {name: tag}
  imageTag: {name: acme/side, newTag: latest}
- |-
  apiVersion: builtin
  kind: NamespaceTransformer
  metadata:
    name: own
    namespace: team
""",
        "dev/patch.yaml": """\
apiVersion: builtin
kind: PatchTransformer
metadata: {name: host}
target: {kind: Deployment}
patch: |-
  - op: add
    path: /spec/template/spec/hostPID
    value: true
---
apiVersion: builtin
kind: ReplicaCountTransformer
metadata: {name: count}
replica: {name: web, count: 9}
fieldSpecs: [{path: spec/replicas, kind: Deployment}]
""",
    }
    web = built(files, "dev")["Deployment"]
    pod = ("spec", "template", "spec")
    assert place(web, *pod, "hostPID") == "dev/patch.yaml:8"
    assert place(web, "spec", "replicas") == "dev/patch.yaml:13"
    assert place(web, *pod, "containers", 1, "image") == "dev/kustomization.yaml:8"
    assert place(web, *pod, "containers", 0, "image") == "base/web.yaml:13"
    assert place(web, "metadata", "namespace") == "dev/kustomization.yaml:14"


def test_what_files_of_transformers_name_is_a_part_of_the_kustomization() -> None:
    files = {
        "dev/kustomization.yaml": "resources: [../base]\ntransformers: [host.yaml]\n",
        "dev/host.yaml": "apiVersion: builtin\nkind: PatchStrategicMergeTransformer\n"
        "metadata: {name: host}\npaths: [web.yaml]\n",
        "dev/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec: {template: {spec: {hostPID: true}}}\n",
    }
    trees.write(files, Path())
    report = checked.of(sources.read_sources(["dev"]).documents, "host-namespaces", "unique-name")
    assert [(each.place.file, each.place.line, each.layers) for each in report.items] == [
        ("dev/web.yaml", 4, ("dev/host.yaml", "dev/web.yaml"))
    ]


def test_a_pattern_that_python_does_not_know_hides_no_finding() -> None:
    top = """\
resources: [../base]
patches:
- target: {kind: '\\pL+'}
  patch: |
    - {op: add, path: /metadata/labels, value: {a: b}}
"""
    assert built({"dev/kustomization.yaml": top}, "dev")["Deployment"].value["metadata"] == {
        "name": "web",
        "labels": {"a": "b"},
    }


WRAPPED: Final = {
    "dev/wrapper.yaml": """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: tune}
spec:
  components:
  - template: {apiVersion: v1, kind: Service, metadata: {name: s}}
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: pt}
      spec:
        template:
          spec:
            hostPID: true
            restartPolicy: Never
            containers: [{name: a, image: "acme/a:1"}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data:
  a.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      hostPID: true
      containers: [{name: a, image: "acme/a:1"}]
""",
    "dev/kustomization.yaml": """\
resources: [wrapper.yaml]
namespace: team
patches:
- target: {kind: AppWrapper}
  patch: |-
    - op: add
      path: /spec/components/1/template/spec/template/spec/hostNetwork
      value: true
""",
}


def test_what_stands_in_a_wrapper_is_placed_in_the_base_and_in_the_layers_as_all_else() -> None:
    trees.write({**WRAPPED}, Path())
    report = checked.of(sources.read_sources(["dev"]).documents, "host-namespaces")
    layer = ("dev/kustomization.yaml",)
    assert [
        (each.kind, each.namespace, each.place.file, each.place.line, each.layers)
        for each in report.items
    ] == [
        ("Job", "team", *layer, 8, layer),
        ("Job", "team", "dev/wrapper.yaml", 14, ()),
        ("Pod", "", "dev/wrapper.yaml", 27, ()),
    ]
    assert [each.edits for each in report.items] == [(), (), ()]


def test_what_a_merged_patch_says_of_a_wrapper_is_placed_in_the_patch() -> None:
    patch = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: tune}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: other}
      spec:
        template:
          spec:
            hostIPC: true
            restartPolicy: Never
            containers: [{name: a, image: "acme/a:1"}]
"""
    top = "resources: [wrapper.yaml]\npatches: [{path: patch.yaml}]\n"
    trees.write({**WRAPPED, "dev/kustomization.yaml": top, "dev/patch.yaml": patch}, Path())
    report = checked.of(sources.read_sources(["dev"]).documents, "host-namespaces")
    assert [(each.name, each.place.file, each.place.line) for each in report.items] == [
        ("other", "dev/patch.yaml", 13),
        ("p", "dev/wrapper.yaml", 27),
    ]


def test_what_a_replacement_in_a_file_sets_is_placed_there() -> None:
    files = {
        "dev/kustomization.yaml": "resources: [../base]\nreplacements: [{path: image.yaml}]\n",
        "dev/image.yaml": """\
source: {kind: TrainJob, fieldPath: spec.trainer.image}
targets:
- select: {kind: Deployment}
  fieldPaths:
  - spec.template.spec.containers.0.image
""",
    }
    web = built(files, "dev")["Deployment"]
    image = ("spec", "template", "spec", "containers", 0, "image")
    assert place(web, *image) == "dev/image.yaml:5"
