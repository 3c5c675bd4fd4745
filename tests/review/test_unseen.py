"""What rules of security cannot see fails a check, unless somebody answers for it by name."""

import yaml

from tests.review import checked
from tests.rules.test_unrendered import POD, patch, train_job
from trainer_infra.review import check, sources, summary
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
    documents = sources.of_text(text, "a.yaml").documents
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
    documents = sources.of_text(yaml.safe_dump(job), "a.yaml").documents
    report = check.check_documents(documents, CheckScope(settled, checked.TODAY))
    assert report.failing() == ()
    assert report.exit_code() == 1
    assert [each.rules for each in report.blind()] == [
        ("schema", "own-exemption", "host-path", "host-ports")
    ]
    assert summary.verdict(report) == "The check failed: rules of security could not see 1 place"
