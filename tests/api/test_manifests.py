"""Manifests: documents with their lines, read as kubectl reads them."""

import json
from typing import Any

import pytest

from trainer_infra.api import manifests
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput

JSON = dict[str, Any]

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits}
spec:
  runtimeRef: {name: jax-distributed}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: jax-distributed
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - name: node
"""


def messages(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        manifests.load_documents(text, "job.yaml")
    return [str(problem) for problem in caught.value.problems]


def places(text: str) -> list[tuple[str, int]]:
    return [
        (document.object.kind, document.line)
        for document in manifests.load_documents(text, "f.yaml")
    ]


def test_documents_know_their_lines_and_empty_ones_are_skipped() -> None:
    text = f"---\n# nothing yet\n---\n{JOB}---\n\n---\n{RUNTIME}---\n"
    assert places(text) == [("TrainJob", 4), ("ClusterTrainingRuntime", 12)]
    assert manifests.load_documents("", "f.yaml") == ()
    assert manifests.load_documents("# only a comment\n", "f.yaml") == ()


def test_a_document_is_the_object_that_parse_makes(job: JSON) -> None:
    (document,) = manifests.load_documents(json.dumps(job), "job.json")
    assert document == manifests.ManifestDocument(TrainJob.from_wire(job), "job.json", 1)
    assert manifests.parse_object(job) == document.object


def test_a_list_is_unfolded() -> None:
    items = JOB.replace("\n", "\n  ").rstrip()
    text = f"apiVersion: v1\nkind: List\nitems:\n- {items}\n- {items}\n"
    assert places(text) == [("TrainJob", 4), ("TrainJob", 9)]
    wrong = text.replace("runtimeRef", "runtime")
    assert messages(wrong) == [
        "job.yaml:7:3: items[0].spec.runtimeRef: is required",
        "job.yaml:8:5: items[0].spec.runtime: unknown field; did you mean runtimeRef?",
        "job.yaml:12:3: items[1].spec.runtimeRef: is required",
        "job.yaml:13:5: items[1].spec.runtime: unknown field; did you mean runtimeRef?",
    ]
    assert manifests.load_documents("{kind: List, apiVersion: v1, items: []}", "f.yaml") == ()


def test_all_problems_of_all_documents_have_line_and_column() -> None:
    text = (
        f"{JOB}  trainer:\n    numNodes: two\n    imag: python\n---\n"
        f"{RUNTIME}                  imagee: python\n---\nkind: Job\n"
    )
    pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec"
    assert messages(text) == [
        "job.yaml:7:5: spec.trainer.numNodes: must be a whole number, got 'two'",
        "job.yaml:8:5: spec.trainer.imag: unknown field; did you mean image?",
        f"job.yaml:25:19: {pod}.containers[0].imagee: unknown field; did you mean image?",
        (
            "job.yaml:27:1: kind: is unknown, got 'Job'; known kinds are TrainJob, TrainingRuntime "
            "and ClusterTrainingRuntime"
        ),
    ]


def test_a_runtime_whose_pods_a_cluster_refuses_is_refused_and_a_stored_one_is_read() -> None:
    template = {"spec": {"containers": [{"name": "Node", "resources": {"limits": {"cpu": 1.5}}}]}}
    job = {"name": "node", "template": {"spec": {"template": template}}}
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "mine"},
        "spec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    container = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]"
    with pytest.raises(InvalidInput) as error:
        manifests.parse_object(runtime)
    assert [str(each) for each in error.value.problems] == [
        (
            f"{container}.resources.limits.cpu: must not be a fraction without quotes, got 1.5; write "
            '"1.5"'
        ),
        (
            f"{container}.name: must be a DNS label: at most 63 lower-case letters, digits and -, got "
            "'Node'"
        ),
    ]
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1.5"}}
    assert manifests.stored_object(runtime).to_wire() == runtime


def test_json_is_read_with_tabs_and_escaped_characters(job: JSON) -> None:
    job["metadata"]["annotations"] = {"a": "😀 \\ud83d\\ude00 / é"}
    text = json.dumps(job, indent="\t").replace("/", "\\/")
    (document,) = manifests.load_documents(text, "job.json")
    assert document.object.to_wire() == job


def test_a_key_written_twice_is_refused() -> None:
    assert messages(f"{JOB}  suspend: true\n  suspend: false\n") == [
        "job.yaml:7:3: spec.suspend: is written twice; keep one of them"
    ]


def test_anchors_aliases_and_merges_are_followed() -> None:
    text = (
        f"{JOB}  trainer:\n    env: &env\n    - &one {{name: A, value: x}}\n"
        "    - {<<: *one, name: B}\n  initializer:\n    dataset: {env: *env}\n"
    )
    (document,) = manifests.load_documents(text, "f.yaml")
    env = [{"name": "A", "value": "x"}, {"name": "B", "value": "x"}]
    spec = document.object.to_wire()["spec"]
    assert (spec["trainer"]["env"], spec["initializer"]["dataset"]["env"]) == (env, env)


def test_a_problem_in_a_merged_object_is_shown_where_it_is_written() -> None:
    text = f"{JOB}  trainer: &it\n    imag: x\n  initializer:\n    <<: *it\n"
    assert messages(text) == [
        "job.yaml:7:5: spec.trainer.imag: unknown field; did you mean image?",
        "job.yaml:7:5: spec.initializer.imag: unknown field; known here: dataset and model",
    ]


def test_an_alias_inside_itself_is_refused() -> None:
    assert messages(f"{JOB}  trainer: {{command: &a [*a]}}\n") == [
        "job.yaml:6:22: spec.trainer.command[0]: an alias stands inside what it refers to"
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("n", "False"),
        ("on", "True"),
        ("0755", "493"),
        ("1e3", "1000.0"),
        ("1_000", "1000"),
        ("0x1F", "31"),
        (".5", "0.5"),
        ("08", "8.0"),
    ],
)
def test_a_string_that_kubectl_reads_as_something_else_must_be_quoted(
    written: str, read: str
) -> None:
    assert messages(JOB.replace("{name: digits}", f"{{name: digits, namespace: {written}}}")) == [
        (
            f"job.yaml:3:26: metadata.namespace: must be a string, got {read}; "
            f'put it in quotes: "{written}"'
        )
    ]


@pytest.mark.parametrize(
    "written", ["12:30", "2026-01-31", "2026-01-31T12:00:00Z", "'0755'", "1.2.3"]
)
def test_what_kubectl_reads_as_a_string_is_one(written: str) -> None:
    text = f"{JOB}  trainer: {{image: {written}}}\n"
    (document,) = manifests.load_documents(text, "f.yaml")
    assert document.object.to_wire()["spec"]["trainer"] == {"image": written.strip("'")}


def test_a_key_that_is_no_string_must_be_quoted() -> None:
    text = JOB.replace("{name: digits}", "{name: digits, annotations: {on: x, 1: y, ? [a] : z}}")
    assert messages(text) == [
        'job.yaml:3:40: metadata.annotations.on: a key must be a string; put it in quotes: "on"',
        'job.yaml:3:47: metadata.annotations[1]: a key must be a string; put it in quotes: "1"',
        "job.yaml:3:55: metadata.annotations[?]: a key must be a string",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "kind: [TrainJob\nspec: {}\n",
            (
                "job.yaml:2:5: is not YAML: while parsing a flow sequence, did not find expected "
                "',' or ']'"
            ),
        ),
        (
            "kind: TrainJob\n\tspec: {}\n",
            (
                "job.yaml:2:1: is not YAML: while scanning a plain scalar, found a tab character "
                "that violates indentation"
            ),
        ),
        (
            "kind: *unknown\n",
            "job.yaml:1:7: is not YAML: found undefined alias",
        ),
        (
            "# é\nkind: \x01\n",
            "job.yaml:2:7: is not YAML: control characters are not allowed, got '\\x01'",
        ),
        ("[" * 1500 + "]" * 1500, "job.yaml: is nested too deeply to be read"),
        (
            "- 1\n",
            "job.yaml:1:1: must be an object with apiVersion and kind, got [1]",
        ),
        (
            "kind: !new TrainJob\n",
            "job.yaml:1:1: kind: the tag !new is unknown; leave it out",
        ),
    ],
)
def test_what_cannot_be_read_is_one_problem(text: str, message: str) -> None:
    assert messages(text)[0] == message
