"""What rules of security cannot see fails a check, unless somebody answers for it by name."""

from typing import Any

import pytest
import yaml

from tests.review import checked
from tests.rules.test_unrendered import POD, patch, train_job
from trainer_infra.review import check, source_objects, summary
from trainer_infra.review.check import CheckScope
from trainer_infra.rules.configuration import Configuration, resolve_configuration
from trainer_infra.rules.exemption import PREFIX
from trainer_infra.rules.pack import Pack, Setting


def exemption(rule: str) -> dict[str, str]:
    return {f"{PREFIX}{rule}": '{owner: security, reason: "it is known", expires: 2026-12-01}'}


def test_a_runtime_that_is_judged_elsewhere_passes_and_the_report_says_what_was_not_seen() -> None:
    trainer = {"image": f"registry.example.com/train@sha256:{'0' * 64}"}
    text = yaml.safe_dump(train_job("elsewhere", trainer=trainer, runtimePatches=[]))
    assert [each.rule.id for each in checked.of_text(text).failing()] == ["runtime-exists"]

    named = {"runtime-exists": Setting(parameters={"judgedElsewhere": ["elsewhere"]})}
    settled = resolve_configuration(Configuration(rules=named), None, Pack("test"))
    documents = source_objects.of_text(text, "a.yaml").documents
    report = check.check_documents(documents, CheckScope(settled, checked.TODAY))
    assert report.exit_code() == 0
    (unseen,) = (each for each in report.unseen if each.path == "spec.runtimeRef.name")
    assert "privileged" in unseen.rules
    assert not unseen.fails


def test_a_patch_that_nothing_can_read_fails_though_its_schema_is_exempt() -> None:
    job = train_job("torch-distributed", runtimePatches=[patch({**POD, "volumes": "all"})])
    job["metadata"]["annotations"] = exemption("schema") | exemption("host-ports")
    loose = {"own-exemption": {"parameters": {"upTo": "high"}}}
    settled = checked.by("schema", "host-ports", "host-path", rules=loose)
    documents = source_objects.of_text(yaml.safe_dump(job), "a.yaml").documents
    report = check.check_documents(documents, CheckScope(settled, checked.TODAY))
    assert report.failing() == ()
    assert report.exit_code() == 1
    assert [each.rules for each in report.blind()] == [
        ("schema", "own-exemption", "host-path", "host-ports")
    ]
    assert summary.verdict(report) == "The check failed: rules of security could not see 1 place"


ENVSUBST = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: "${JOB}", namespace: $TEAM}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: ${REGISTRY}/train:${TAG:=v1}
    numNodes: ${NODES}
    resourcesPerNode: {limits: {nvidia.com/gpu: $GPUS}}
"""


def test_what_envsubst_fills_in_is_not_seen_and_not_wrong() -> None:
    report = checked.of_text(ENVSUBST, "schema", "image-name", "quantities")
    assert report.items == ()
    assert {each.path for each in report.unseen} >= {
        "metadata.name",
        "metadata.namespace",
        "spec.trainer.image",
        "spec.trainer.numNodes",
        "spec.trainer.resourcesPerNode.limits[nvidia.com/gpu]",
    }
    assert report.exit_code() == 0


@pytest.mark.parametrize(
    "pod",
    [
        {"hostPID": "${P}"},
        {
            "containers": [
                {"name": "c", "image": "r/x:1", "securityContext": {"privileged": "${P}"}}
            ]
        },
        {"containers": [{"name": "c", "image": "r/x:1", "securityContext": {"runAsUser": "$P"}}]},
    ],
)
def test_what_decides_over_rights_is_wrong_where_it_is_to_be_filled_in(pod: dict[str, Any]) -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "r/x:1"}], **pod}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": spec}},
    }
    assert checked.of_text(yaml.safe_dump(job)).exit_code() == 1


def test_a_name_that_is_no_variable_is_wrong_as_ever() -> None:
    report = checked.of_text(ENVSUBST.replace("${JOB}", "$(JOB)"), "schema")
    assert [each.path for each in report.items] == ["metadata.name"]
