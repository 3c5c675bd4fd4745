"""Objects that stand in others, and in texts of others, are judged, each at its place in the file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.review import checked
from trainer_infra.api import yamltext
from trainer_infra.review import baseline, check, documents, fix, sources
from trainer_infra.review.report import Item, Report
from trainer_infra.rules import RULES

RULE = RULES[0]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  hostPID: true
  containers:
  - name: a
    image: acme/a:1
"""
SECURITY = ("host-namespaces", "privileged", "host-path", "literal-secrets")


def indented(text: str, columns: int, first: str = "") -> str:
    """The text that many columns to the right, the first line behind other characters."""
    space = " " * columns
    lines = [f"{space}{each}" if each else "" for each in text.splitlines()]
    lines[0] = first.rjust(columns) + text.splitlines()[0] if first else lines[0]
    return "\n".join(lines) + "\n"


def in_mapping(kind: str, version: str, *above: str) -> str:
    """A wrapper of that kind with the pod below keys; a key that is `-` is an item of a list."""
    lines, columns = [], 0
    for key in above:
        lines.append(f"{' ' * columns}{key}{'' if key == '-' else ':'}")
        columns += 2
    head = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w, namespace: vision}}\n"
    return head + "".join(f"{each}\n" for each in lines) + indented(POD, columns)


def wrapped(text: str) -> str:
    """An object in a ManifestWork."""
    head = (
        "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\n"
        "metadata: {name: outer, namespace: c1}\nspec:\n  workload:\n    manifests:\n"
    )
    return head + indented(text, 6, "- ")


WRAPPERS = {
    "AppWrapper": ("workload.codeflare.dev/v1beta2", "spec", "components", "-", "template"),
    "Experiment": ("kubeflow.org/v1beta1", "spec", "trialTemplate", "trialSpec"),
    "Template": ("template.openshift.io/v1", "objects", "-"),
    "ManifestWork": ("work.open-cluster-management.io/v1", "spec", "workload", "manifests", "-"),
    "ManifestWorkReplicaSet": (
        *("work.open-cluster-management.io/v1alpha1", "spec", "manifestWorkTemplate"),
        *("workload", "manifests", "-"),
    ),
    "Work": ("work.karmada.io/v1alpha1", "spec", "workload", "manifests", "-"),
    "Object": ("kubernetes.crossplane.io/v1alpha2", "spec", "forProvider", "manifest"),
    "HelmRelease": ("helm.toolkit.fluxcd.io/v2", "spec", "values", "extraDeploy", "-"),
    "ApplicationSet": ("argoproj.io/v1alpha1", "spec", "template", "spec", "source", "x"),
    "Application": (
        "core.oam.dev/v1beta1",
        "spec",
        "components",
        "-",
        "properties",
        "objects",
        "-",
    ),
    "ResourceGraphDefinition": ("kro.run/v1alpha1", "spec", "resources", "-", "template"),
    "Sensor": (
        "argoproj.io/v1alpha1",
        "spec",
        "triggers",
        "-",
        "template",
        "k8s",
        "source",
        "resource",
    ),
}


@pytest.mark.parametrize("kind", WRAPPERS)
def test_an_object_in_a_wrapper_is_judged_at_its_place(kind: str) -> None:
    version, *above = WRAPPERS[kind]
    text = in_mapping(kind, version, *above)
    assert places(checked.of_text(text, *SECURITY)) == [line_of(text, "hostPID")]
    deeper = wrapped(text)
    (found,) = (report := checked.of_text(deeper, *SECURITY)).items
    assert places(report) == [line_of(deeper, "hostPID")]
    assert (found.kind, found.name, found.path) == ("Pod", "p", "spec.hostPID")
    assert found.inside.startswith("ManifestWork c1/outer: spec.workload.manifests[0]: ")
    assert f": {kind} vision/w: " in found.inside
    assert checked.of_text(deeper.replace("true", "false"), *SECURITY).items == ()


def test_an_object_is_judged_at_any_depth() -> None:
    text = wrapped(POD)
    for _ in range(12):
        text = wrapped(text)
    (found,) = (report := checked.of_text(text, *SECURITY)).items
    assert places(report) == [line_of(text, "hostPID")]
    assert found.inside.count("ManifestWork") == 13


def places(report: Report) -> list[tuple[int, int]]:
    return [(each.place.line, each.place.column) for each in report.items]


def line_of(text: str, word: str, which: int = 0) -> tuple[int, int]:
    """Line and column of a word in a text."""
    found = [
        (number, line.index(word) + 1)
        for number, line in enumerate(text.splitlines(), 1)
        if word in line
    ]
    return found[which]


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: vision}\ndata:\n"
TEXTS = {
    "a block": "  a.yaml: |\n" + indented(POD, 4),
    "a block that is kept": "  a.yaml: |+\n" + indented(POD, 6) + "\n\n",
    "a second document": "  a.yaml: |-\n    # none\n    ---\n    a: 1\n    ---\n"
    + indented(POD, 4),
    "a list": (
        "  a.yaml: |\n    apiVersion: v1\n    kind: List\n    items:\n" + indented(POD, 6, "    - ")
    ),
    "a here document": (
        "  a.sh: |\n    set -e\n    cat <<'EOF' | kubectl apply -f -\n"
        + indented(POD, 4)
        + "    EOF\n"
    ),
    "a template": "  a.yaml: |\n    {{- if .x }}\n"
    + indented(POD.replace("name: a", "name: {{ .a }}"), 4),
    "values of a chart": "  v.yaml: |\n    extraDeploy:\n" + indented(POD, 6, "    - "),
    "a list of no kind": "  a.yaml: |\n" + indented(POD, 6, "    - "),
    "a text in a text": "  v.yaml: |\n    extraDeploy:\n    - |\n" + indented(POD, 6),
}


@pytest.mark.parametrize("form", TEXTS)
def test_an_object_in_a_text_is_judged_on_its_line_and_mended_there(
    form: str, tmp_path: Path
) -> None:
    text = CONFIG_MAP + TEXTS[form]
    report = checked.of_text(text, *SECURITY)
    assert places(report) == [line_of(text, "hostPID")]
    assert report.items[0].inside.startswith("ConfigMap vision/m: data[")
    assert checked.of_text(text.replace("true", "false"), *SECURITY).items == ()
    file = tmp_path / "a.yaml"
    file.write_text(text)
    fix.write_fixes(checked.of(sources.read_sources([str(file)]).documents, *SECURITY).items)
    assert file.read_text() == text.replace("hostPID: true", "hostPID: false")


def test_a_text_on_one_line_is_the_place_of_all_that_is_in_it_and_is_not_mended() -> None:
    text = CONFIG_MAP + f"  b: c\n  a.json: {POD!r}\n".replace("'", '"')
    report = checked.of_text(text, *SECURITY)
    assert places(report) == [line_of(text, "a.json")]
    assert report.items[0].edits == ()


def test_what_cannot_be_read_in_a_text_is_told_and_other_texts_are_not() -> None:
    text = (
        CONFIG_MAP
        + "  a.py: |\n    x = '''\n"
        + indented(POD, 4)
        + "    '''\n  b: 'kind: x, apiVersion:'\n"
    )
    report = checked.of_text(text, *SECURITY)
    assert dict(report.notes) == {check.UNREAD: "a.yaml: ConfigMap vision/m: data[a.py]"}
    assert report.items == ()


def test_a_part_of_an_object_is_judged_by_what_it_sets() -> None:
    text = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app}
spec:
  source:
    kustomize:
      patches:
      - target: {kind: Deployment, name: web}
        patch: |-
          - op: add
            path: /spec/template/spec/containers/1/securityContext
            value: {privileged: true}
          - {op: add, path: /spec/template/spec/hostPID, value: true}
          - {op: remove, path: /spec/template/spec/hostNetwork}
      - patch: |-
          apiVersion: batch/v1
          kind: Job
          metadata: {name: j}
          spec:
            template:
              spec:
                hostIPC: true
"""
    report = checked.of_text(text)
    assert [
        (each.rule.id, *place) for each, place in zip(report.items, places(report), strict=True)
    ] == [
        ("privileged", *line_of(text, "privileged")),
        ("host-namespaces", *line_of(text, "value: true")),
        ("host-namespaces", *line_of(text, "hostIPC")),
    ]
    assert report.items[0].path == "spec.template.spec.containers[1].securityContext.privileged"
    assert (report.objects, report.notes[check.PARTS]) == (1, "3")
    assert report.unseen == ()


@pytest.mark.parametrize(
    "patch",
    [
        (
            "kind: ClusterPolicy\nspec:\n  rules:\n  - mutate:\n      patchesJson6902: |-\n"
            "        - {op: add, path: /spec/hostPID, value: true}\n"
        ),
        (
            "kind: ClusterPolicy\nspec:\n  rules:\n  - mutate:\n      patchStrategicMerge:\n        spec:\n"
            "          hostPID: true\n"
        ),
        (
            "kind: OverridePolicy\nspec:\n  overrideRules:\n  - overriders:\n      plaintext:\n"
            "      - {path: /spec/template/spec/hostPID, operator: replace, value: true}\n"
        ),
        (
            "kind: Kustomization\nspec:\n  patches:\n  - target: {kind: Job}\n    patch: |\n      spec:\n"
            "        template:\n          spec:\n            hostPID: true\n"
        ),
        (
            "kind: HelmRelease\nspec:\n  postRenderers:\n  - kustomize:\n      patchesStrategicMerge:\n      - kind: Job\n"
            "        apiVersion: batch/v1\n        metadata: {name: j}\n        spec:\n          template:\n"
            "            spec:\n              hostPID: true\n"
        ),
        (
            "kind: HelmRelease\nspec:\n  postRenderers:\n  - kustomize:\n      patchesJson6902:\n      - target: {kind: Job}\n"
            "        patch:\n        - {op: add, path: /spec/template/spec/hostPID, value: true}\n"
        ),
        (
            "kind: Composition\nspec:\n  resources:\n  - base:\n      apiVersion: v1\n      kind: Pod\n      spec:\n"
            "        hostPID: true\n"
        ),
        ("kind: Workflow\nspec:\n  podSpecPatch: |\n    hostPID: true\n"),
        (
            "kind: ApplicationSet\nspec:\n  templatePatch: |\n    spec:\n      source:\n        kustomize:\n          patches:\n"
            "          - patch: '[{op: add, path: /spec/hostPID, value: true}]'\n"
        ),
    ],
)
def test_every_form_of_a_patch_is_judged(patch: str) -> None:
    text = f"apiVersion: example.com/v1\nmetadata: {{name: p}}\n{patch}"
    text = text.replace("example.com", "kyverno.io") if "kind: ClusterPolicy" in patch else text
    (found,) = (report := checked.of_text(text)).items
    assert (found.rule.id, found.place.line) == ("host-namespaces", line_of(text, "hostPID")[0])
    assert report.unseen == ()
    assert checked.of_text(text.replace("true", "false")).items == ()


def test_parameters_are_filled_in_or_not_known() -> None:
    text = """\
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: t}
parameters:
- {name: TAG, value: latest}
- {name: PRIVILEGED, value: "true"}
- {name: NAME}
objects:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec:
    containers:
    - name: a
      image: acme/a:${TAG}
      args: ["${HOME}/x"]
      securityContext: {privileged: "${{PRIVILEGED}}"}
    - name: b
      image: acme/${NAME}:1
"""
    report = checked.of_text(text, "image-latest", "privileged", "image-digest", "image-name")
    assert [(each.rule.id, each.got) for each in report.items] == [
        ("image-digest", "'acme/a:latest'"),
        ("image-latest", "'acme/a:latest'"),
        ("privileged", "True"),
    ]
    assert [each.path for each in report.unseen] == ["spec.containers[1].image"]


TRIAL = """\
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {name: e, namespace: vision}
spec:
  trialTemplate:
    trialParameters: [{name: lr, reference: lr}]
    trialSpec:
      apiVersion: trainer.kubeflow.org/v1alpha1
      kind: TrainJob
      spec:
        runtimeRef: {name: torch-distributed}
        trainer:
          image: acme/a:latest
          command: [python, train.py]
          args: ["--lr=${trialParameters.lr}", "--token=TOKEN"]
"""
TOKEN = "hf_abcdefghijABCDEFGHIJ0123456789abcd"


def test_an_object_is_in_the_namespace_of_its_wrapper_and_named_by_that() -> None:
    report = checked.of_text(TRIAL)
    trial = [each for each in report.items if each.inside]
    assert {(each.kind, each.namespace, each.name) for each in trial} == {
        ("TrainJob", "vision", "")
    }
    assert "image-latest" in [each.rule.id for each in trial]
    assert "schema" not in [each.rule.id for each in trial]
    assert report.unseen[0].path == "spec.trainer.args[0]"


def test_a_secret_is_told_once_with_what_it_stands_in() -> None:
    text = TRIAL.replace("TOKEN", TOKEN)
    found = [each for each in checked.of_text(text).items if each.rule.id == "literal-secrets"]
    assert [(each.kind, each.place.line) for each in found] == [("TrainJob", 15)]
    both = text.replace('", "--token=', " --token=")
    found = [each for each in checked.of_text(both).items if each.rule.id == "literal-secrets"]
    assert [(each.kind, each.place.line) for each in found] == [("Experiment", 15)]
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: SummerVision2026}\n"
    report = checked.of_text(wrapped(secret), "literal-secrets")
    assert [(each.kind, each.inside) for each in report.items] == [
        ("Secret", "ManifestWork c1/outer: spec.workload.manifests[0]")
    ]
    assert "SummerVision" not in repr(report)


def test_what_is_a_file_of_its_own_too_is_told_once_and_is_no_second_object() -> None:
    own = documents.read_documents(POD, "p.yaml")
    around = documents.read_documents(CONFIG_MAP + "  a.yaml: |\n" + indented(POD, 4), "m.yaml")
    report = checked.of((*own, *around), "host-namespaces", "unique-name")
    assert [(each.rule.id, each.place.file) for each in report.items] == [
        ("host-namespaces", "p.yaml")
    ]
    other = documents.read_documents(POD.replace("acme/a:1", "acme/a:2"), "p.yaml")
    report = checked.of((*other, *around), "host-namespaces", "unique-name")
    assert [each.place.file for each in report.items] == ["m.yaml", "p.yaml"]


def test_references_copies_patterns_and_what_must_not_be_are_no_objects() -> None:
    quiet: Sequence[str] = (
        (
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n"
            "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
        ),
        (
            "apiVersion: example.com/v1\nkind: Copy\nmetadata:\n  name: c\n  annotations:\n    last: |\n"
            + indented(POD, 6)
        ),
        (
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: k}\nspec:\n  rules:\n  - validate:\n"
            "      pattern: {spec: {hostPID: true, containers: [{securityContext: {privileged: true}}]}}\n"
        ),
        (
            "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: p}\nspec:\n"
            "  object-templates:\n  - complianceType: mustnothave\n    objectDefinition:\n"
            + indented(POD, 6)
        ),
    )
    for text in quiet:
        assert [each.what for each in found_in(text)] == []


def found_in(text: str) -> Sequence[Item]:
    return checked.of_text(text, *SECURITY).items


def test_a_rule_of_kyverno_generates_an_object_of_its_data() -> None:
    text = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: k}
spec:
  rules:
  - generate:
      apiVersion: v1
      kind: Pod
      name: helper
      namespace: "{{request.object.metadata.name}}"
      data:
        spec:
          hostPID: true
          containers: [{name: a, image: acme/a:1}]
"""
    (found,) = checked.of_text(text, *SECURITY).items
    assert (found.kind, found.name, found.place.line) == ("Pod", "helper", 13)


def test_what_is_known_by_a_baseline_stays_known_where_the_wrapper_is_edited() -> None:
    version, *above = WRAPPERS["AppWrapper"]
    text = in_mapping("AppWrapper", version, *above)
    written = baseline.baseline_text(checked.of_text(text, *SECURITY))
    known = baseline.read_baseline(written.encode(), "baseline.json")
    edited = text.replace("spec:\n  comp", "spec:\n  priority: 3\n  comp", 1)
    assert [each.is_known for each in checked.of_text(edited, *SECURITY, baseline=known).items] == [
        True
    ]
    other = text.replace("name: w,", "name: other,")
    assert [each.is_known for each in checked.of_text(other, *SECURITY, baseline=known).items] == [
        False
    ]


def test_objects_of_another_cluster_are_not_judged_by_this_one() -> None:
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: vision}\nspec: {clusterQueue: here}\n"
    inner = queue.replace("name: q", "name: r").replace("here", "there")
    here = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: here}\nspec: {namespaceSelector: {}}\n"
    text = f"{queue}---\n{here}---\n{wrapped(inner)}"
    assert checked.of_text(text, "queue-chain").items == ()
    object_ = "apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata: {name: o}\nspec:\n  forProvider:\n    manifest:\n"
    text = f"{queue}---\n{here}---\n{object_}{indented(inner, 6)}"
    assert [each.name for each in checked.of_text(text, "queue-chain").items] == ["r"]


def test_an_exemption_of_the_wrapper_holds_for_what_stands_in_it_as_far_as_the_pack_allows() -> (
    None
):
    version, *above = WRAPPERS["AppWrapper"]
    said = "exempt.trainer-infra.dev/RULE: '{owner: a, reason: b, expires: 2027-01-31}'"
    volume = "  volumes: [{name: v, hostPath: {path: /data}}]\n"
    text = in_mapping("AppWrapper", version, *above).replace("hostPID: true", volume.strip())
    exempt = text.replace("namespace: vision}", f"namespace: vision, annotations: {{{said}}}}}", 1)

    def counting(text: str, rule: str) -> list[tuple[str, str]]:
        found = checked.of_text(text.replace("RULE", rule), rule, "own-exemption")
        return [(each.rule.id, each.kind) for each in found.items if each.counts]

    assert counting(text, "image-digest") == [("image-digest", "Pod")]
    assert counting(exempt, "image-digest") == []
    assert counting(exempt, "host-path") == [("own-exemption", "AppWrapper"), ("host-path", "Pod")]


WORDS = (
    *("apiVersion", "kind", "metadata", "spec", "items", "patch", "patches", "target", "data"),
    *("name", "namespace", "containers", "template", "hostPID", "op", "path", "value", "image"),
)
TEXTS_OF_ANY = st.sampled_from(
    (
        *(
            "v1",
            "Pod",
            "List",
            "PodList",
            "ConfigMap",
            "Template",
            "Workflow",
            "{{a}}",
            "${A}",
            "a",
        ),
        *(
            POD,
            f"---\n{POD}---\nkind: x\napiVersion: v1\n",
            f"cat <<EOF\n{POD}EOF\n",
            "/spec/0/-",
            "add",
        ),
        *(
            "- {op: add, path: /spec/hostPID, value: true}",
            "kind: [\napiVersion: {",
            "apiVersion: v1\nkind: {{b}}",
        ),
    )
)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-1, 2), TEXTS_OF_ANY),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=14,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(WORDS), ANY, max_size=6),
    st.sampled_from(("Other", "ConfigMap", "Template", "Workflow")),
)
def test_whatever_stands_in_an_object_is_judged_and_has_a_place(
    value: dict[str, Any], kind: str
) -> None:
    text = yamltext.dump_yaml([{**value, "apiVersion": "v1", "kind": kind}])
    report = checked.of_text(text)
    last = text.count("\n") + 1
    assert [each for each in report.items if not 0 < each.place.line <= last] == []
    assert "Mark." not in repr([replace(each, rule=RULE) for each in report.items])
    assert checked.of_text(text) == report
