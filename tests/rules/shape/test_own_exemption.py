"""What is judged does not excuse itself: its annotations exempt from what the pack allows."""

from datetime import date, timedelta

import pytest
import yaml

from tests.review import checked
from tests.review.checked import TODAY
from trainer_infra.errors import InvalidInput
from trainer_infra.review import check, source_objects
from trainer_infra.review.check import CheckScope
from trainer_infra.review.report import Report
from trainer_infra.rules import exemption, packs
from trainer_infra.rules.configuration import Configuration, Environment, resolve_configuration
from trainer_infra.rules.exemption import Exemption
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.pack import Enforcement, Pack, Setting

SOON = TODAY + timedelta(days=30)


def report(
    expires: date, *rules: str, pack: Pack = packs.TRAINING, limits: dict[str, object] | None = None
) -> Report:
    """Of a privileged pod of an image without a digest, exempt by its annotations."""
    text = f"{{owner: vision, reason: it is known, expires: {expires}}}"
    container = {"name": "node", "image": "a:1", "securityContext": {"privileged": True}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "digits",
            "namespace": "vision",
            "annotations": {exemption.PREFIX + each: text for each in rules},
        },
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }
    chosen = {exemption.OWN: Setting(parameters=limits)} if limits else {}
    settled = resolve_configuration(Configuration(rules=chosen), None, pack)
    documents = source_objects.of_text(yaml.safe_dump(job), "a.yaml").documents
    return check.check_documents(documents, CheckScope(settled, TODAY))


def excused(found: Report) -> list[str]:
    return [each.rule.id for each in found.items if each.excuse and not each.excuse.is_expired]


def told(found: Report) -> list[str]:
    return [each.what for each in found.items if each.rule.id == exemption.OWN]


def test_it_exempts_up_to_a_severity_and_for_some_days() -> None:
    found = report(SOON, "image-digest", "privileged")
    assert excused(found) == ["image-digest"]
    assert "privileged" in {each.rule.id for each in found.failing()}
    assert told(found) == ["is from a rule of severity critical, and may be from medium at most"]

    assert excused(report(SOON, "image-digest", limits={"upTo": "low"})) == []
    endless = report(TODAY + timedelta(days=367), "image-digest")
    assert excused(endless) == []
    assert told(endless) == ["ends in 367 days, and may last 366 at most"]
    assert told(report(TODAY + timedelta(days=366), "image-digest")) == []


def test_the_restricted_pack_takes_no_exemption_of_an_objects_own() -> None:
    found = report(SOON, "image-digest", pack=packs.RESTRICTED)
    assert excused(found) == []
    assert told(found) == [
        "is not allowed by the pack: who is judged does not excuse himself",
    ]
    assert excused(report(SOON, "image-digest", pack=packs.RESTRICTED, limits={"allowed": True}))


@pytest.mark.parametrize(
    ("rule", "expires", "expected"),
    [
        ("image-digets", SOON, "names no known rule"),
        ("own-exemption", SOON, "exempts from the rule about such annotations"),
        ("image-digest", TODAY - timedelta(days=1), "expired on 2026-11-21, and excuses nothing"),
    ],
)
def test_what_excuses_nothing_is_a_finding(rule: str, expires: date, expected: str) -> None:
    found = report(expires, rule)
    assert told(found) == [expected]
    assert excused(found) == []


def test_the_annotation_about_the_rule_itself_excuses_nothing() -> None:
    found = report(SOON, "own-exemption", "image-digets")
    assert len(told(found)) == 2
    assert excused(found) == []


def test_a_pack_without_the_rule_has_its_usual_limits() -> None:
    alone = Pack("test", settings={"image-digest": Setting(), "privileged": Setting()})
    settings = {**alone.settings, exemption.OWN: Setting(enforcement=Enforcement.DISABLED)}
    found = report(SOON, "image-digest", "privileged", pack=Pack("test", settings=settings))
    assert excused(found) == ["image-digest"]
    assert told(found) == []


def test_a_high_finding_is_exempt_where_the_pack_says_so_alone() -> None:
    host = report(
        SOON,
        "image-digest",
        pack=Pack("t", settings={"image-digest": Setting(severity=Severity.HIGH)}),
    )
    assert excused(host) == []
    settings = {"image-digest": Setting(severity=Severity.HIGH)}
    loose = Pack("t", settings=settings).with_settings(
        {exemption.OWN: Setting(parameters={"upTo": "high"})}
    )
    assert excused(report(SOON, "image-digest", pack=loose)) == ["image-digest"]


def test_an_exemption_of_the_configuration_may_not_last_for_ever_either() -> None:
    late = TODAY + timedelta(days=367)
    mine = Exemption(rule="privileged", owner="a", reason="b", expires=late)
    settled = checked.by("privileged", exemptions=[mine])
    documents = source_objects.of_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, "
        "spec: {containers: [{name: a, securityContext: {privileged: true}}]}}",
        "a.yaml",
    ).documents
    found = check.check_documents(documents, CheckScope(settled, TODAY))
    assert (excused(found), found.exit_code()) == ([], 1)
    why = "it ends in 367 days, and may last 366 at most"
    assert found.unused == (f"a's exemption from privileged for * */* excuses nothing: {why}",)
    tomorrow = check.check_documents(documents, CheckScope(settled, TODAY + timedelta(days=1)))
    assert excused(tomorrow) == ["privileged"]


def test_the_configuration_exempts_from_whatever_its_owner_answers_for() -> None:
    mine = Exemption(rule="privileged", owner="a", reason="b", expires=TODAY + timedelta(days=300))
    settled = checked.by("privileged", exemptions=[mine])
    job = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}
    job["spec"] = {"containers": [{"name": "a", "securityContext": {"privileged": True}}]}
    documents = source_objects.of_text(yaml.safe_dump(job), "a.yaml").documents
    assert excused(check.check_documents(documents, CheckScope(settled, TODAY))) == ["privileged"]
    late = CheckScope(settled, mine.expires + timedelta(days=1))
    assert check.check_documents(documents, late).unused == (
        f"a's exemption from privileged for * */* expired on {mine.expires}",
    )


def test_a_configuration_that_exempts_from_no_rule_is_refused() -> None:
    wrong = Exemption(rule="image-digets", owner="a", reason="b", expires=SOON)
    dev = Environment(exemptions=(wrong,))
    there = Configuration(exemptions=(wrong,), environments={"dev": dev})
    with pytest.raises(InvalidInput) as caught:
        resolve_configuration(there, None, None)
    assert [each.path for each in caught.value.problems] == [
        "exemptions[0].rule",
        "environments.dev.exemptions[0].rule",
    ]
