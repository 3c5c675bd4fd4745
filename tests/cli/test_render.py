"""`trainer-infra render`: documents in, objects out. Golden folders: reference behaviour 14."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import Command
from trainer_infra.cli import render

CASES = sorted((Path(__file__).parent / "golden").iterdir())
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec: {runtimeRef: {name: jax-distributed}, trainer: {numNodes: 2}}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: plain, namespace: team}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: busybox}]}}}
"""
ON_PLAIN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: SPACE}
spec: {runtimeRef: {name: plain, kind: TrainingRuntime}}
"""
NO_CONTAINER = (
    "d.yaml:1: TrainingRuntime plain: spec.template.spec.replicatedJobs[0].template.spec"
    ".template.spec.containers: must contain the required container for the ancestor: "
    "trainer; name one 'node'"
)
NO_RUNTIME = (
    "c.yaml:1: TrainJob lost: spec.runtimeRef.name: names a runtime that is neither given nor "
    "in the catalog, got 'jax'; did you mean jax-distributed? `trainer-infra catalog` lists all; or "
    "pass a TrainingRuntime"
)


def objects(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def named(text: str) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in objects(text)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_renders_as_the_spec_says(cli: Command, case: Path) -> None:
    done = cli("render", "-f", str(case / "documents.yaml"))
    found = objects(done.out)
    found[0]["data"]["runtime"] = yaml.safe_load(found[0]["data"]["runtime"])
    assert found == objects((case / "objects.yaml").read_text())
    assert (done.code, done.err) == (0, "")


def test_yaml_quotes_what_another_reader_takes_for_something_else(cli: Command) -> None:
    done = cli("render", "-f", str(CASES[0] / "documents.yaml"))
    assert done.out.count('namespace: "n"') == 2


def test_json_is_one_list_of_the_same_objects(cli: Command) -> None:
    file = str(CASES[0] / "documents.yaml")
    whole = json.loads(cli("render", "-f", file, "-o", "json").out)
    assert whole == {
        "apiVersion": "v1",
        "kind": "List",
        "items": objects(cli("render", "-f", file).out),
    }


def test_stdin_is_a_file(cli: Command) -> None:
    text = JOB.replace("NAME", "one")
    file = cli.write("one.yaml", text)
    assert cli("render", "-f", "-", stdin=text) == cli("render", "-f", file)


def test_a_folder_is_its_files_in_order_of_their_names(cli: Command) -> None:
    cli.write("jobs/b.yml", JOB.replace("NAME", "second"))
    cli.write("jobs/c.json", json.dumps(yaml.safe_load(JOB.replace("NAME", "third"))))
    cli.write("jobs/a.yaml", JOB.replace("NAME", "first"))
    cli.write("jobs/README.md", "not a manifest")
    assert named(cli("render", "-f", "jobs").out) == [
        "ConfigMap first-runtime-snapshot",
        "JobSet first",
        "ConfigMap second-runtime-snapshot",
        "JobSet second",
        "ConfigMap third-runtime-snapshot",
        "JobSet third",
    ]


def test_a_runtime_of_another_file_serves_jobs_of_its_namespace(cli: Command) -> None:
    cli.write("runtime.yaml", RUNTIME)
    cli.write("here.yaml", ON_PLAIN.replace("NAME", "here").replace("SPACE", "team"))
    cli.write("there.yaml", ON_PLAIN.replace("NAME", "there").replace("SPACE", "other"))

    here = cli("render", "-f", "here.yaml", "-f", "runtime.yaml")
    assert named(here.out) == ["ConfigMap here-runtime-snapshot", "JobSet here"]

    there = cli("render", "-f", "there.yaml", "-f", "runtime.yaml")
    assert (there.code, there.out) == (1, "")
    assert there.err == (
        "there.yaml:1: TrainJob there: spec.runtimeRef.name: names a TrainingRuntime that is not "
        "in the documents of namespace other, got 'plain'; add it, or name a "
        "ClusterTrainingRuntime\n"
    )


def test_every_error_of_every_document_is_told_and_nothing_printed(cli: Command) -> None:
    cli.write("a.yaml", JOB.replace("NAME", "good"))
    cli.write("b.yaml", JOB.replace("NAME", "typo").replace("numNodes", "numNode"))
    cli.write(
        "c.yaml",
        JOB.replace("NAME", "lost").replace("jax-distributed", "jax")
        + "---\n"
        + JOB.replace("NAME", "good"),
    )
    cli.write("d.yaml", RUNTIME.replace("name: node, image", "name: nod, image"))
    done = cli("render", "-f", "a.yaml", "-f", "b.yaml", "-f", "c.yaml", "-f", "d.yaml", "-f", "e")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "b.yaml:4:55: spec.trainer.numNode: unknown field; did you mean numNodes?",
        "e: cannot be read: No such file or directory",
        "c.yaml:6: metadata.name: TrainJob is in the documents more than once, got 'good'",
        NO_CONTAINER,
        NO_RUNTIME,
    ]


def test_a_broken_document_hides_no_other_of_its_file_and_blames_no_job_on_it(
    cli: Command,
) -> None:
    text = "---\n".join(
        [
            RUNTIME.replace("image: busybox", "imagee: busybox"),
            ON_PLAIN.replace("NAME", "on-it").replace("SPACE", "team"),
            JOB.replace("NAME", "lost").replace("jax-distributed", "jax"),
        ]
    )
    done = cli("render", "-f", "-", stdin=text)
    assert (done.code, done.out) == (1, "")
    told = done.err.splitlines()
    assert [line.split(": ")[0] for line in told] == ["stdin:11:62", "stdin:18"]
    assert told[0].endswith(".containers[0].imagee: unknown field; did you mean image?")
    assert told[1].startswith("stdin:18: TrainJob lost: spec.runtimeRef.name: names a runtime")


def test_documents_without_a_train_job_are_an_error(cli: Command) -> None:
    cli.write("runtime.yaml", RUNTIME)
    cli.write("empty/README.md", "")
    assert cli("render", "-f", "runtime.yaml").err == (
        "no document of runtime.yaml is a TrainJob\n"
    )
    assert cli("render", "-f", "empty").err == ("empty: the folder has no object of the trainer\n")


def test_a_name_that_only_a_server_makes_is_an_error(cli: Command) -> None:
    done = cli("render", "-f", "-", stdin=JOB.replace("name: NAME", "generateName: job-"))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "stdin:1: metadata.name: is missing; write one: generateName needs an API server\n"
    )


def test_like_reference_switches_our_deviations_off(cli: Command) -> None:
    text = JOB.replace("NAME", "bare").replace(", trainer: {numNodes: 2}", "")
    ours = objects(cli("render", "-f", "-", stdin=text).out)
    reference = objects(cli("render", "-f", "-", "--like-reference", stdin=text).out)

    def env(found: list[dict[str, Any]]) -> list[str]:
        pod = found[1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        return [each["name"] for each in pod["containers"][0].get("env", ())]

    assert env(ours) == ["JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"]
    assert env(reference) == []


def test_q10_like_the_reference_a_runtime_may_have_both_gang_policies(cli: Command) -> None:
    policy = "spec:\n  podGroupPolicy: {coscheduling: {}, volcano: {}}\n  template:\n    spec:"
    both = RUNTIME.replace("spec:\n  template:\n    spec:", policy, 1)
    text = f"{both}---\n{ON_PLAIN.replace('NAME', 'tj').replace('SPACE', 'team')}"
    ours = cli("render", "-f", "-", stdin=text)
    assert (ours.code, ours.out) == (1, "")
    assert "must have only one of coscheduling and volcano" in ours.err
    reference = cli("render", "-f", "-", "--like-reference", stdin=text)
    assert (reference.code, reference.err) == (0, "")
    assert [each["kind"] for each in objects(reference.out)] == [
        "ConfigMap",
        "PodGroup",
        "PodGroup",
        "JobSet",
    ]


def test_contents_of_a_generated_secret_are_not_shown() -> None:
    secret = {"kind": "Secret", "data": {"id": "c2VjcmV0"}, "stringData": {"key": "secret"}}
    assert render.warnings_shown(secret) == {
        "kind": "Secret",
        "data": {"id": "<generated>"},
        "stringData": {"key": "<generated>"},
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["render"], "Error: Missing option '--file' / '-f'."),
        (["render", "-f", "-", "-o", "xml"], "Error: Invalid value for '--output' / '-o'"),
        (["render", "-f", "-", "--lik"], "Error: No such option:? '?--lik"),
        (["rendr"], "Error: No such command 'rendr'."),
        (
            ["get", "--target", "k8s"],
            "Error: Invalid value for '--target': .*'k8s' is not one of 'local', 'kubernetes'.",
        ),
        (["get", "NAME", "-A"], "Error: Invalid value: --all-namespaces lists runs"),
    ],
)
def test_usage_errors_end_with_2(cli: Command, arguments: list[str], told: str) -> None:
    done = cli(*arguments, stdin="")
    assert (done.code, done.out) == (2, "")
    assert re.match(told, done.err.splitlines()[-1])


def test_version_and_help_end_with_0(cli: Command) -> None:
    assert cli("--version").out == "trainer-infra 0.1.0\n"
    assert cli("--help").code == 0


def test_a_folder_is_read_as_check_reads_it(cli: Command) -> None:
    cli.write("all/team/job.yaml", JOB.replace("NAME", "deep"))
    cli.write("all/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    cli.write("all/values.yml", "not: an object\n")
    assert named(cli("render", "-f", "all").out)[-1] == "JobSet deep"
    cli.write("all/wrong.yaml", JOB.replace("NAME", "typo").replace("numNodes", "numNode"))
    assert cli("render", "-f", "all").err == (
        "all/wrong.yaml:4:55: spec.trainer.numNode: unknown field; did you mean numNodes?\n"
    )
