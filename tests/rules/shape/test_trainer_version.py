"""The release of Trainer that runs the jobs says which fields there are; older ones are judged, too."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from tests.review import checked
from tools import schemas
from trainer_infra import names
from trainer_infra.api.shape import schema
from trainer_infra.review import check, source_objects, sources
from trainer_infra.review.check import CheckScope
from trainer_infra.review.report import Report
from trainer_infra.rules import older_overrides
from trainer_infra.rules.configuration import Configuration, resolve_configuration
from trainer_infra.rules.pack import Pack, Selection, Setting

JSON = dict[str, Any]
HOST: JSON = {"name": "host", "hostPath": {"path": "/etc"}}
QUEUE = {names.KUEUE_QUEUE_LABEL: "team"}


def job(**spec: Any) -> JSON:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, **spec},
    }


def runtime(policy: JSON) -> JSON:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.CLUSTER_TRAINING_RUNTIME,
        "metadata": {"name": "torch"},
        "spec": {"mlPolicy": policy},
    }


OVERRIDES = {
    "2.0": job(podSpecOverrides=[{"targetJobs": [{"name": "node"}], "volumes": [HOST]}]),
    "2.1": job(
        labels=QUEUE,
        podTemplateOverrides=[{"targetJobs": [{"name": "node"}], "spec": {"volumes": [HOST]}}],
    ),
}


def report(value: JSON, version: str, *rules: str) -> Report:
    settings = {"schema": Setting(parameters={"trainerVersion": version})}
    pack = Pack("test", selection=Selection(ids=("schema", *rules)))
    settled = resolve_configuration(Configuration(rules=settings), None, pack)
    documents = source_objects.of_text(yaml.safe_dump(value), "a.yaml").documents
    return check.check_documents(documents, CheckScope(settled, checked.TODAY))


def found(value: JSON, version: str, *rules: str) -> list[tuple[str, str, str]]:
    return [(each.rule.id, each.path, each.fix) for each in report(value, version, *rules).items]


@pytest.mark.parametrize(("version", "place"), [
    ("2.0", "spec.podSpecOverrides[0].volumes[0].hostPath.path"),
    ("2.1", "spec.podTemplateOverrides[0].spec.volumes[0].hostPath.path"),
])  # fmt: skip
def test_rules_judge_what_an_older_override_says_where_it_stands(version: str, place: str) -> None:
    said = report(OVERRIDES[version], version, "host-path", "privileged")
    assert [(each.rule.id, each.path) for each in said.items] == [("host-path", place)]
    assert said.blind() == ()
    newest = report(OVERRIDES[version], "2.3", "host-path")
    assert ("host-path", place) in [(each.rule.id, each.path) for each in newest.items]
    assert newest.blind() == ()


PATCHES = "write spec.runtimePatches, which took its place in Trainer 2.2"
METADATA = "write it in spec.runtimePatches, below trainingRuntimeSpec.template.metadata, since Trainer 2.2"


@pytest.mark.parametrize(
    ("value", "version", "expected"),
    [
        (OVERRIDES["2.1"], "2.3", [("spec.labels", METADATA), ("spec.podTemplateOverrides", PATCHES)]),
        (OVERRIDES["2.0"], "2.2", [("spec.podSpecOverrides", PATCHES)]),
        (OVERRIDES["2.0"], "2.1", [(
            "spec.podSpecOverrides",
            "write spec.podTemplateOverrides, which took its place in Trainer 2.1",
        )]),
        (job(runtimePatches=[]), "2.1", [
            ("spec.runtimePatches", "Trainer 2.2 and newer have it, 2.1 does not"),
        ]),
        (runtime({"jax": {}}), "2.1", [
            ("spec.mlPolicy.jax", "Trainer 2.2 and newer have it, 2.1 does not"),
        ]),
        (runtime({"torch": {"numProcPerNode": "auto"}}), "2.3", [(
            "spec.mlPolicy.torch.numProcPerNode",
            "write spec.trainer.numProcPerNode of the TrainJob: Trainer 2.2 removed this one",
        )]),
        (runtime({"torch": {"numProcPerNode": "auto"}}), "2.1", []),
        (runtime({"torch": {"numProcPerNode": "all"}}), "2.1", [("spec.mlPolicy.torch.numProcPerNode", "")]),
        (runtime({"torch": {"elasticPolicy": {"minNodes": 1}}, "numNodes": 2}), "2.1", [("spec.mlPolicy", "")]),
        (job(podTemplateOverides=[]), "2.1", [("spec.podTemplateOverides", "did you mean podTemplateOverrides?")]),
    ],
    ids=str,
)  # fmt: skip
def test_a_field_of_another_release_names_what_took_its_place(
    value: JSON, version: str, expected: Sequence[tuple[str, str]]
) -> None:
    assert [(path, fix) for _, path, fix in found(value, version)] == expected


@pytest.mark.verify
@pytest.mark.parametrize("release", [*schemas.OLDER, "2.3"])
def test_the_examples_of_a_release_are_what_its_schema_says(release: str) -> None:
    module = schemas.TRAINER[0]
    version = schemas.OLDER.get(release, schemas.TRAINER[1])
    folder = schemas.module_folder(module, version)
    read = sources.read_sources([str(folder / "manifests/base/runtimes"), str(folder / "examples")])
    ours = [each for each in read.documents if each.value.get("apiVersion") == names.API_VERSION]
    assert len(ours) > 3
    wrong = [
        (each.file, str(finding))
        for each in ours
        for finding in schema.schema_findings(each.value, each.value["kind"], release)
    ]
    assert wrong == []


def test_paths_of_made_patches_lead_back_and_others_stay() -> None:
    own = {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {}}}}
    both = {**OVERRIDES["2.1"], "spec": {**OVERRIDES["2.1"]["spec"], "runtimePatches": [own]}}
    current = older_overrides.with_patches(both)
    assert len(current["spec"]["runtimePatches"]) == 3
    jobs = (
        "spec",
        "runtimePatches",
        2,
        "trainingRuntimeSpec",
        "template",
        "spec",
        "replicatedJobs",
    )
    pod = (*jobs, 0, "template", "spec", "template", "spec", "volumes", 0)
    labels = ("spec", "runtimePatches", 1, "trainingRuntimeSpec", "template", "metadata", "labels")
    back = {path: older_overrides.written_path(both, path) for path in (pod, jobs, labels)}
    assert back == {
        pod: ("spec", "podTemplateOverrides", 0, "spec", "volumes", 0),
        jobs: ("spec", "podTemplateOverrides", 0),
        labels: ("spec", "labels"),
    }
    same = (
        ("spec", "runtimePatches", 0, "manager"),
        ("spec", "runtimePatches"),
        ("spec", "trainer"),
    )
    assert [older_overrides.written_path(both, each) for each in same] == [*same]


@pytest.mark.parametrize(
    "spec",
    [
        {"podTemplateOverrides": "all"},
        {"podTemplateOverrides": [1, {"targetJobs": "node"}, {"targetJobs": [2]}]},
        {"labels": ["a"], "podSpecOverrides": [{"targetJobs": [{"name": 1}], "volumes": 1}]},
    ],
    ids=str,
)
def test_overrides_that_are_wrong_themselves_end_in_findings(spec: JSON) -> None:
    assert "schema" in {rule for rule, *_ in found(job(**spec), "2.1", "host-path")}
