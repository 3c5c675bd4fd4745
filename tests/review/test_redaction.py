"""No secret that stands in what is checked is in anything that is said of it."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.review import checked
from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.review import baseline, documents, formats, source_objects, text
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Report
from trainer_infra.rules import tree
from trainer_infra.runs.redaction import Redaction

HIDDEN = names.SECRET_SHOWN
TOKEN = "hf_" + "aB3dE6gH9j" * 4
PASSWORD = 'q7"W\\e9$Rt2 zX'
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSj\n"

SECRET = f"""\
apiVersion: v1
kind: Secret
metadata: {{name: s, namespace: team-a}}
data:
  token: {base64.b64encode(TOKEN.encode()).decode()}
  wrapped: |
    {base64.b64encode(PASSWORD.encode()).decode()[:8]}
    {base64.b64encode(PASSWORD.encode()).decode()[8:]}
stringData:
  password: {json.dumps(PASSWORD)}
  key: |
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEF
    AASCBKcwggSj
"""
JOB = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits
  namespace: team-a
  annotations: {{note: {json.dumps(PASSWORD)}}}
spec:
  runtimeRef: {{name: torch-distributed}}
  initializer:
    dataset: {{storageUri: "https://user:{TOKEN}@example.com/x"}}
  trainer:
    image: registry.example.com/{TOKEN}:latest
    command: [sh, -c, "train --api-key={TOKEN} --epochs 3"]
    args:
    - --hub-token
    - "hf_\\x61{TOKEN[4:]}"
    env:
    - {{name: HF_TOKEN, value: "{TOKEN}"}}
    - name: SSH_KEY
      value: |
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEF
        AASCBKcwggSj
    - name: PET_NNODES
      value: {json.dumps(PASSWORD)}
"""
RUNTIME = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: {TOKEN}
  labels: {{trainer.kubeflow.org/framework: "{TOKEN}"}}
  annotations:
    exempt.trainer-infra.dev/image-digest: '{{owner: a, reason: "{TOKEN}"}}'
spec:
  template:
    spec:
      replicatedJobs:
      - name: "{TOKEN}"
        template: {{spec: {{template: {{spec: {{hostNetwork: "{TOKEN}", containers: [
          {{name: node, image: "{TOKEN}", env: [{{name: A, value: "{TOKEN}"}}]}}]}}}}}}}}
"""
TEXT = f"{SECRET}---\n{JOB}---\n{RUNTIME}"
PLANTED = (
    *(TOKEN, TOKEN[4:], "MIIEvQIBADANBgkqhkiG9w0BAQEF", "AASCBKcwggSj"),
    *(PASSWORD, json.dumps(PASSWORD)[1:-1], repr(PASSWORD)[1:-1]),
    *(base64.b64encode(each.encode()).decode() for each in (TOKEN, PASSWORD)),
)


def said(report: Report) -> dict[str, str]:
    """All that is made of a report."""
    found = {name: make(report) for name, make in formats.FORMATS.items()}
    found |= {
        "colour": text.report_text(report, colour=True),
        "baseline": baseline.baseline_text(report),
    }
    return found | {"items": repr(report.items), "problems": repr(report.problems)}


def test_no_planted_secret_is_in_any_format_problem_or_baseline() -> None:
    report = checked.of_text(TEXT)
    rules = {each.rule.id for each in report.items}
    assert {"literal-secrets", "image-latest", "reserved-env", "schema"} < rules
    assert len(report.problems) == 1
    told = said(report)
    assert {name: [each for each in PLANTED if each in words] for name, words in told.items()} == {
        name: [] for name in told
    }
    assert all(HIDDEN in told[name] for name in ("text", "json", "sarif"))


def test_a_secret_of_another_object_is_hidden_too() -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a"},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"image": f"x/{PASSWORD}:latest"},
        },
    }
    secret = {"kind": "Secret", "stringData": {"a": PASSWORD}}
    document = documents.read_documents(json.dumps(job), "a.json")
    plain = checked.of(document, "image-latest").items
    (hidden,) = checked.of(document, "image-latest", others=[secret]).items
    assert [each.got for each in plain] == [repr(f"x/{PASSWORD}:latest")]
    assert hidden.got == f"'x/{HIDDEN}:latest'"


def test_a_secret_is_not_told_because_it_is_cut() -> None:
    long = "k9" + "Zx4" * 90
    hidden = ReportRedaction.of(_of({"kind": "Secret", "stringData": {"a": long}}))
    problem = Problem("spec", "is wrong", {"deep": [f"a {long}"], long: 1})
    assert hidden.problem(problem) == replace(problem, got={"deep": [f"a {HIDDEN}"], HIDDEN: 1})


def test_a_short_value_of_a_secret_is_hidden_where_it_stands_and_nowhere_else() -> None:
    found = documents.read_documents("apiVersion: v1\nkind: Secret\nstringData:\n  a: 'no'\n", "a")
    hidden = ReportRedaction.of(
        zip(found, tree.subjects_of([each.value for each in found]), strict=True)
    )
    assert hidden == ReportRedaction(Redaction(), frozenset({("a", 4)}))
    assert hidden.text("no reason") == "no reason"


BROKEN = (
    'a: "%s\n',
    "a: %s\n b: c\n",
    "- %s\na: b\n",
    "a: *%s\n",
    "a: &%s 1\nb: &%s 2\nc: [\n",
    "%%YAML 9.%s\n---\na: 1\n",
    'a: "\\q%s"\n',
    "a: !<%s 1\n",
    "\t%s: [\n",
    "a: %s\x07\n",
)


@pytest.mark.parametrize("text", BROKEN)
def test_what_cannot_be_read_is_not_quoted(text: str) -> None:
    found = source_objects.of_text(text.replace("%s", TOKEN).replace("%%", "%"), "stdin")
    report = checked.of((), problems=found.problems)
    assert len(report.problems) == 1
    assert TOKEN[:8] not in str(said(report))


def test_what_a_tool_says_is_told_without_secrets_of_a_known_form() -> None:
    (problem,) = checked.of((), problems=(f"top: bad literal {TOKEN}, use key=value",)).problems
    assert problem == f"top: bad literal {HIDDEN}, use key=value"


@given(st.text(min_size=6).filter(lambda each: len(each.strip()) >= 6), st.integers(0, 2))
def test_whatever_a_secret_is_made_of_it_is_hidden_however_it_is_shown(
    secret: str, style: int
) -> None:
    hidden = ReportRedaction.of(_of({"kind": "Secret", "stringData": {"a": secret}}))
    shown = (str, repr, json.dumps)[style](secret)
    core = shown[1:-1] if style else shown.strip()
    assert core not in hidden.text(f"<<{shown}>>") or core in HIDDEN


def _of(value: Any) -> Any:
    """The object, as Redaction takes it."""
    document = documents.Document({"apiVersion": "v1", **value}, "a", None)
    return [(document, tree.subjects_of([document.value])[0])]


def test_a_password_that_a_person_chose_is_hidden_wherever_else_it_stands() -> None:
    chosen = "SummerVision2026"
    job = JOB.replace(f"--api-key={TOKEN}", f"--password {chosen}")
    found = source_objects.of_text(job, "a.yaml").documents
    (subject,) = tree.subjects_of([found[0].value])
    redaction = ReportRedaction.of([(found[0], subject)])
    assert redaction.text(f"got {chosen}") == f"got {HIDDEN}"


def test_a_password_that_is_a_number_is_hidden_where_its_type_is_wrong() -> None:
    job = JOB.replace(
        "    - {name: HF_TOKEN", "    - {name: DB_PASSWORD, value: 20311224}\n    - {name: HF_TOKEN"
    )
    report = checked.of_text(job)
    assert "quoted-strings" in {each.rule.id for each in report.items}
    assert [name for name, words in said(report).items() if "20311224" in words] == []
