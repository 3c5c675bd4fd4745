"""Lists of one kind are read item by item, as `kind: List` is; places and edits are those of an item."""

import json
from pathlib import Path

import pytest

from tests.review import checked
from trainer_infra.review import documents, fix, sources

TRAINER = "trainer.kubeflow.org/v1alpha1"
KUEUE = "kueue.x-k8s.io/v1beta2"


def text_of(kind: str, version: str, spec: str) -> str:
    """A list as `kubectl get --raw` has it: its items have neither kind nor apiVersion."""
    return f"""\
apiVersion: {version}
kind: {kind}List
metadata: {{resourceVersion: "7"}}
items:
- metadata:
    name: first
  spec: {{}}
- metadata:
    name: second
  spec:
    {spec}
"""


@pytest.mark.parametrize(
    ("kind", "version", "spec"),
    [
        ("TrainJob", TRAINER, "numNodes: 1"),
        ("TrainingRuntime", TRAINER, "mlPolicy: 1"),
        ("ClusterTrainingRuntime", TRAINER, "mlPolicy: 1"),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", "replicatedJobs: 1"),
        ("ClusterQueue", KUEUE, "queueingStrategy: 1"),
        ("LocalQueue", KUEUE, "clusterQueue: 1"),
    ],
)
def test_every_item_is_an_object_of_its_kind_with_places_of_its_own(
    kind: str, version: str, spec: str
) -> None:
    found = documents.read_documents(text_of(kind, version, spec), "a.yaml")
    assert [
        (each.value["apiVersion"], each.value["kind"], each.value["metadata"]["name"])
        for each in found
    ] == [(version, kind, "first"), (version, kind, "second")]
    assert [each.start for each in found] == [("items", 0), ("items", 1)]
    field = spec.partition(":")[0]
    assert [each.place(each.at(("spec", field))) for each in found] == [(7, 3), (11, 5)]
    assert [each.place(each.at(("kind",))) for each in found] == [(5, 3), (8, 3)]


def test_rules_judge_the_items_and_find_fields_on_their_lines() -> None:
    text = text_of("TrainJob", TRAINER, "numNodes: 1")
    report = checked.of_text(text, "schema")
    assert (report.objects, report.unjudged) == (2, {})
    assert ("a.yaml", 11, "spec.numNodes") in [each[1:] for each in checked.places(report)]
    queues = text_of("LocalQueue", KUEUE, "clusterQueue: missing")
    report = checked.of_text(queues, "queue-chain")
    assert (report.objects, report.unjudged) == (2, {})


def test_an_item_that_says_its_kind_keeps_it_and_a_list_may_hold_lists() -> None:
    own = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "own"}}
    jobs = {"apiVersion": TRAINER, "kind": "TrainJobList", "items": [{"metadata": {}}, own, 1]}
    whole = {"apiVersion": "v1", "kind": "List", "items": [jobs, {"metadata": {}}, own]}
    found = documents.read_documents(json.dumps(whole), "a.json")
    assert [(each.value["kind"], each.start) for each in found] == [
        ("TrainJob", ("items", 0, "items", 0)),
        ("ServiceAccount", ("items", 0, "items", 1)),
        ("ServiceAccount", ("items", 2)),
    ]


def test_a_list_without_items_has_no_objects_and_a_kind_that_ends_like_one_is_an_object() -> None:
    empty = f"apiVersion: {TRAINER}\nkind: TrainJobList\nitems: []\n"
    other = "apiVersion: example.com/v1\nkind: AllowList\nspec: {items: [a]}\n"
    found = documents.read_documents(f"{empty}---\n{other}", "a.yaml")
    assert [each.value["kind"] for each in found] == ["AllowList"]


def test_what_is_wrong_with_the_yaml_of_an_item_is_found() -> None:
    text = text_of("TrainJob", TRAINER, "suspend: true\n    suspend: false")
    first, second = documents.read_documents(text, "a.yaml")
    assert list(first.findings()) == []
    (twice,) = second.findings()
    assert (twice.path, twice.what) == (("spec", "suspend"), "is written twice")


def test_an_item_is_mended_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "runtimes.yaml"
    item = """\
- metadata:
    name: {name}  # ours
  spec:
    template:
      spec:
        replicatedJobs:
        - name: node
          template:
            spec:
              template:
                spec:
                  hostNetwork: {host}
                  containers:
                  - name: node
                    image: acme/train:1
"""
    head = f"apiVersion: {TRAINER}\nkind: TrainingRuntimeList\nitems:\n"
    good = item.format(name="a", host="false")
    file.write_text(head + good + item.format(name="b", host="true"))
    report = checked.of(sources.read_sources([str(file)]).documents, "host-namespaces")
    (found,) = report.items
    assert (found.kind, found.name, found.place.line) == ("TrainingRuntime", "b", 30)
    fix.write_fixes(report.items)
    assert checked.of(sources.read_sources([str(file)]).documents, "host-namespaces").items == ()
    assert file.read_text().startswith(head + good)
    assert "name: b  # ours" in file.read_text()
