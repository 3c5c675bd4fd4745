"""Documents and what is asked -> a report: places, exemptions, the runtime beside a TrainJob."""

from datetime import date

from tests.review import checked
from trainer_infra.review import check, documents, source_objects
from trainer_infra.review.check import CheckScope, Reach
from trainer_infra.review.report import Excuse, Place
from trainer_infra.rules.finding import Severity

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj, namespace: team-a}
spec:
  runtimeRef: {name: own, kind: TrainingRuntime}
  trainer:
    env: [{name: A, value: b}]
    image: acme/train:latest  # for now
"""
SHIPPED = JOB.replace("{name: own, kind: TrainingRuntime}", "{name: torch-distributed}")
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: own
  namespace: team-a
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
          spec:
            template:
              spec:
                hostPID: true
                containers: [{name: node, image: a/b:1}]
"""
POD = "spec.template.spec.replicatedJobs[0].template.spec.template.spec"


def test_a_finding_points_at_the_line_that_says_it() -> None:
    report = checked.of_text(f"{JOB}---\n{RUNTIME}", "image-latest", "host-namespaces")
    assert checked.places(report) == [
        ("image-latest", "a.yaml", 8, "spec.trainer.image"),
        ("host-namespaces", "a.yaml", 27, f"{POD}.hostPID"),
    ]
    assert report.items[0].place == Place(
        "a.yaml", 8, 5, 8, 29, ("    image: acme/train:latest  # for now",)
    )
    assert (report.objects, report.files, report.exit_code()) == (2, ("a.yaml",), 1)


def test_a_text_block_ends_with_its_last_line() -> None:
    text = SHIPPED.replace("acme/train:latest  # for now", "|\n      acme/train:latest\n\n")
    (found,) = checked.of_text(text, "image-digest").items
    shown = ("    image: |", "      acme/train:latest")
    assert found.place == Place("a.yaml", 8, 5, 9, 24, shown)


def test_a_runtime_is_found_in_another_file_and_beside_the_files() -> None:
    (job,), (runtime,) = (
        documents.read_documents(JOB, "a.yaml"),
        documents.read_documents(RUNTIME, "b.yaml"),
    )
    alone = checked.of([job], "host-namespaces")
    both = checked.of([job, runtime], "host-namespaces")
    beside = checked.of([job], "host-namespaces", others=[runtime.value])
    assert checked.places(alone) == []
    assert checked.places(both) == [("host-namespaces", "b.yaml", 18, f"{POD}.hostPID")]
    assert checked.places(beside) == [("host-namespaces", "a.yaml", 5, "spec.runtimeRef.name")]


def test_what_is_not_judged_is_still_there_for_others() -> None:
    both = source_objects.of_text(f"{JOB}---\n{RUNTIME}", "a.yaml").documents
    report = checked.of(both, "runtime-exists", "host-namespaces", reach={1: Reach.AROUND})
    place = ("host-namespaces", "a.yaml", 5, "spec.runtimeRef.name")
    assert (checked.places(report), report.objects) == ([place], 1)


def test_what_is_wrong_with_the_yaml_is_said_of_the_object_it_is_in() -> None:
    text = f"{RUNTIME}---\napiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"{'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(JOB.splitlines())
    )
    report = checked.of_text(
        text.replace("env: [", "env: &e [").replace("b}", "b, name: C}"), "schema"
    )
    assert [(each.kind, each.path, each.what, each.place.line) for each in report.items] == [
        ("TrainJob", "spec.trainer.env[0].name", "is written twice", 30)
    ]


def test_an_exemption_excuses_until_its_day_and_is_told_where_it_excuses_nothing() -> None:
    exemptions = [
        {"rule": rule, "owner": "team-a", "reason": "why", "expires": "2026-11-22", "name": "tj"}
        for rule in ("image-latest", "image-digest", "privileged")
    ]
    settled = checked.by("image-latest", "image-digest", exemptions=exemptions)
    found = documents.read_documents(SHIPPED, "a.yaml")
    excused = Excuse("team-a", "why", date(2026, 11, 22), is_expired=False)
    expired = Excuse("team-a", "why", date(2026, 11, 22), is_expired=True)

    today = check.check_documents(found, CheckScope(settled, date(2026, 11, 22), Severity.LOW))
    tomorrow = check.check_documents(found, CheckScope(settled, date(2026, 11, 23), Severity.LOW))
    partly = check.check_documents(
        found, CheckScope(settled, date(2026, 11, 22), reach={0: Reach.AROUND})
    )

    assert [each.excuse for each in today.items] == [excused] * 2
    assert [each.excuse for each in tomorrow.items] == [expired] * 2
    assert (today.exit_code(), tomorrow.exit_code()) == (0, 1)
    assert today.unused == ("team-a's exemption from privileged for * */tj excuses nothing",)
    assert partly.unused == ()


def test_what_could_not_be_read_is_in_the_report() -> None:
    report = checked.of(
        documents.read_documents(JOB, "a.yaml"), "privileged", problems=("b: is not there",)
    )
    assert (report.problems, report.exit_code()) == (("b: is not there",), 3)


def test_findings_come_as_a_reader_of_the_files_meets_them() -> None:
    second = list(documents.read_documents(RUNTIME, "b.yaml"))
    first = list(documents.read_documents(JOB, "a.yaml"))
    report = checked.of([*second, *first])
    order = [(each.place.file, each.place.line, each.place.column) for each in report.items]
    assert len(order) > 5
    assert order == sorted(order)
