"""`trainer-infra migrate` prints what v1 jobs become, and tells what they lose."""

import json

import yaml

from tests.cli.command import Command

JOB = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: NAME}
spec:
  runPolicy: {cleanPodPolicy: All}
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: jax, image: i, command: [python, t.py]}]}}
"""
LOST = (
    (
        "spec.jaxReplicaSpecs: {'Worker': 2}: NUM_PROCESSES=2 is written into the runtime: change it "
        "together with trainer.numNodes"
    ),
    (
        "spec.runPolicy.cleanPodPolicy: 'All': ended pods are kept until the TrainJob goes: delete it, "
        "or give it ttlSecondsAfterFinished"
    ),
)


def job(name: str) -> str:
    return JOB.replace("NAME", name)


def test_each_job_becomes_a_runtime_and_a_train_job_that_render(shared_cli: Command) -> None:
    file = shared_cli.write("jobs.yaml", f"{job('a')}---\n{job('b')}")
    done = shared_cli("migrate", file)
    assert done.code == 0
    assert [
        f"{each['kind']} {each['metadata']['name']}" for each in yaml.safe_load_all(done.out)
    ] == [
        "TrainingRuntime a",
        "TrainJob a",
        "TrainingRuntime b",
        "TrainJob b",
    ]
    rendered = shared_cli("render", "-f", "-", stdin=done.out)
    assert (rendered.code, rendered.err) == (0, "")


def test_what_is_lost_stands_on_stderr_and_in_a_comment(shared_cli: Command) -> None:
    done = shared_cli("migrate", shared_cli.write("job.yaml", f"# mine\n{job('a')}"))
    assert done.err.splitlines() == [
        f"job.yaml:{line}: {each}" for line, each in zip((7, 6), LOST, strict=True)
    ]
    assert done.out.splitlines()[:3] == [
        "# From JAXJob a (job.yaml:2).",
        *(f"# - {each}" for each in LOST),
    ]


def test_json_and_lists_and_stdin(shared_cli: Command) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(job("a"))]}
    done = shared_cli("migrate", "-", "-o", "json", stdin=json.dumps(listed))
    whole = json.loads(done.out)
    assert [each["kind"] for each in whole["items"]] == ["TrainingRuntime", "TrainJob"]


def test_a_job_that_cannot_be_migrated_does_not_stop_the_others(shared_cli: Command) -> None:
    good = shared_cli.write("good.yaml", job("a"))
    bad = shared_cli.write(
        "bad.yaml", job("a").replace("replicas", "replica") + "---\nkind: TFJob\n"
    )
    broken = shared_cli.write(
        "broken.yaml", job("a").replace("NAME", "a").replace("image: i", "imag: i")
    )
    done = shared_cli("migrate", good, bad, broken, "none.yaml")
    assert (done.code, done.out) == (1, shared_cli("migrate", good).out)
    lost, lines = done.err.splitlines()[:2], done.err.splitlines()[2:]
    assert lost == [f"good.yaml:{line}: {each}" for line, each in zip((6, 5), LOST, strict=True)]
    assert lines.pop(0) == "3 of 4 objects cannot be migrated; the others are printed:"
    assert lines[0] == (
        "bad.yaml:8:7: spec.jaxReplicaSpecs.Worker.replica: unknown field; did you mean replicas?"
    )
    assert lines[1].startswith("bad.yaml:11:1: kind: has no counterpart: v2 has no TensorFlow")
    assert lines[2].startswith("broken.yaml:9:")
    assert lines[3] == "none.yaml: cannot be read: No such file or directory"


def test_what_only_v2_refuses_names_the_v1_job(shared_cli: Command) -> None:
    name = "j" * 60
    done = shared_cli("migrate", shared_cli.write("long.yaml", job(name)))
    assert done.code == 1
    assert done.err.startswith(f"long.yaml:1: JAXJob {name}: TrainJob {name}: metadata.name: ")


def test_nothing_is_printed_where_nothing_can_be_migrated(shared_cli: Command) -> None:
    done = shared_cli("migrate", shared_cli.write("tf.yaml", "kind: TFJob\n"))
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
