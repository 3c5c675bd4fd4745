"""`--fix`: what is written into files, and that it silences the rules."""

import stat
from pathlib import Path

import pytest

from tests.review import checked
from tests.review.reports import item
from trainer_infra.api import yamltext
from trainer_infra.errors import NotAvailable
from trainer_infra.review import fix, sources
from trainer_infra.review.report import Edit, Report
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.rule import AnyRule

MOST_PASSES = 9
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: own  # ours
spec:
  mlPolicy:
    torch: {}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                hostNetwork: true  # why not
                containers:
                - name: node
                  image: acme/train:1
                  securityContext:
                    privileged: true
                    # see the wiki
                    allowPrivilegeEscalation: true
"""


def mended(path: Path, *rules: str) -> Report:
    """Check and fix a file as often as it changes; the last report."""
    for _ in range(MOST_PASSES):
        report = checked.of(sources.read_sources([str(path)]).documents, *rules)
        if not fix.write_fixes(report.items):
            return report
    raise AssertionError(f"{path} changes again and again")


def test_rules_that_add_to_one_mapping_are_all_silent_after_some_passes(tmp_path: Path) -> None:
    file = tmp_path / "runtime.yaml"
    file.write_text(RUNTIME)
    rules = (
        *("framework-label", "required-jobs", "host-namespaces", "privileged"),
        "privilege-escalation",
    )
    assert mended(file, *rules).items == ()
    assert file.read_text() == (
        RUNTIME.replace(
            "# ours\n", "# ours\n  labels:\n    trainer.kubeflow.org/framework: torch\n"
        )
        .replace("hostNetwork: true", "hostNetwork: false")
        .replace("privileged: true", "privileged: false")
        .replace("Escalation: true", "Escalation: false")
        + "          metadata:\n"
        "            labels:\n"
        "              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n"
    )


@pytest.mark.parametrize(
    "rule", [each for each in RULES if each.remediates], ids=lambda each: each.id
)
def test_a_fixed_file_is_silent_for_its_rule(rule: AnyRule, tmp_path: Path) -> None:
    fixed = 0
    for number, case in enumerate(fixture.shipped_cases(rule.id)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(yamltext.dump_yaml(case.objects(is_good=False)))
        before = checked.of(sources.read_sources([str(file)]).documents[:1], rule.id)
        patched = [each for each in before.items if each.edits]
        after = mended(file, rule.id)
        fixed += len(patched)
        if patched:
            assert len(after.items) <= len(before.items) - len(patched)
    assert fixed


def test_edits_that_overlap_are_made_one_after_the_other() -> None:
    first, second = Edit("a", (1, 1), (1, 4), "x"), Edit("a", (1, 3), (1, 6), "y")
    assert fix.fixed_text("abcdefg\n", [first, second]) == "abyfg\n"


def test_of_two_edits_at_one_place_the_same_is_made_every_time() -> None:
    both = [Edit("a", (1, 2), (1, 2), each) for each in ("x", "y")]
    assert {fix.fixed_text("ab\n", order) for order in (both, both[::-1])} == {"ayb\n"}


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text(RUNTIME)
    real.chmod(0o640)
    link.symlink_to(real)
    assert mended(link, "privileged").items == ()

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text() == RUNTIME.replace("privileged: true", "privileged: false")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


def identity(file: Path) -> tuple[int, int, int]:
    """What a write changes: the time of the last read does not count."""
    return (file.stat().st_ino, file.stat().st_mtime_ns, file.stat().st_ctime_ns)


def test_a_file_in_which_nothing_is_to_be_mended_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(RUNTIME)
    before = identity(file)
    report = checked.of(sources.read_sources([str(file)]).documents, "image-digest")
    assert len(report.items) == 1
    assert fix.write_fixes(report.items) == ()
    assert identity(file) == before


def test_a_file_that_is_gone_is_an_error_with_its_name() -> None:
    edit = Edit("none/a.yaml", (1, 1), (1, 1), "x")
    with pytest.raises(NotAvailable) as refused:
        fix.write_fixes([item(edits=(edit,))])
    assert str(refused.value) == "none/a.yaml: cannot be written: No such file or directory"
