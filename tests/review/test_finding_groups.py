"""A reader sees one entry for one cause, the worst first, and no more than was asked for."""

from dataclasses import replace

from tests.review import checked
from tests.review.reports import CLEAN, DIGEST, LIMITS, item
from trainer_infra.review import finding_groups, text
from trainer_infra.review.finding_groups import FindingGroup
from trainer_infra.review.report import Item, Report
from trainer_infra.rules.finding import Severity

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: 4, image: {image}}}
"""


def groups(report: Report) -> list[tuple[str, ...]]:
    return [
        tuple(each.rule.id for each in one.items) for one in finding_groups.finding_groups(report)
    ]


def test_what_a_job_has_from_its_runtime_is_one_entry_for_all_jobs() -> None:
    jobs = [JOB.format(name=name, image="acme/train:1") for name in ("a", "b", "c")]
    report = checked.of_text("---\n".join(jobs), "seccomp", "run-as-non-root", "image-digest")
    assert groups(report) == [("run-as-non-root", "seccomp"), ("image-digest",)]
    for each in finding_groups.finding_groups(report):
        assert [other.name for other in each.others] == ["b", "c"]
    lines = text.report_text(report, colour=False).splitlines()
    assert lines[0] == (
        "a.yaml:5:16: medium ClusterTrainingRuntime torch-distributed, "
        "on which TrainJob a runs, breaks 2 rules"
    )
    assert sum("names no seccomp profile; set " in each for each in lines) == 1
    assert (
        "    The same of 2 more on ClusterTrainingRuntime torch-distributed: "
        "TrainJob b at a.yaml:12, TrainJob c at a.yaml:19" in lines
    )


def test_a_job_that_has_other_things_from_its_runtime_is_an_entry_of_its_own() -> None:
    """The second one mends a rule by a patch."""
    patch = """\
  runtimePatches:
  - manager: example.com/me
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    securityContext: {seccompProfile: {type: RuntimeDefault}}
"""
    jobs = [JOB.format(name=name, image="a:1") for name in ("a", "b")]
    report = checked.of_text("---\n".join([jobs[0], jobs[1] + patch]), "seccomp", "run-as-non-root")
    assert groups(report) == [("run-as-non-root", "seccomp"), ("run-as-non-root",)]


def test_what_a_rule_says_of_several_containers_of_an_object_is_one_entry() -> None:
    container = "{name: %s, image: a@sha256:%s}"
    containers = ", ".join(container % (name, "0" * 64) for name in ("a", "b"))
    text_of_job = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: digits}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{containers}]
"""
    other = text_of_job.replace("digits", "letters")
    report = checked.of_text(f"{text_of_job}---\n{other}", "privilege-escalation")
    found = finding_groups.finding_groups(report)
    assert [[each.place.line for each in (one.first, *one.others)] for one in found] == [
        [8, 8],
        [17, 17],
    ]
    assert "    The same at a.yaml:8\n" in text.report_text(report, colour=False)


def of(*items: Item, shown_from: Severity = Severity.LOW) -> Report:
    return replace(CLEAN, items=items, shown_from=shown_from)


def test_the_worst_comes_first_and_what_the_baseline_has_is_a_number() -> None:
    mild, bad = item(DIGEST, name="a"), item(LIMITS, name="b")
    report = of(mild, replace(mild, is_known=True), bad)
    assert groups(report) == [(LIMITS.id,), (DIGEST.id,)]
    said = text.report_text(report, colour=False)
    assert said.count("image-digest") == 1
    assert "; 1 known by the baseline" in said


def test_what_is_milder_is_not_shown_but_counted_and_what_fails_is_always() -> None:
    mild, bad = item(DIGEST, name="a"), item(LIMITS, name="b")
    said = text.report_text(of(mild, bad, shown_from=Severity.HIGH), colour=False)
    assert "image-digest" not in said
    assert "0 critical, 1 high, 1 medium, 0 low; 1 finding below high not shown" in said
    loud = of(mild, bad, shown_from=Severity.CRITICAL)
    assert [each.first for each in finding_groups.finding_groups(loud)] == [bad]


def test_a_group_has_a_title_on_one_line() -> None:
    group = FindingGroup((replace(item(name="x"), runtime="ClusterTrainingRuntime a\nb"),))
    assert "\n" not in group.title()
