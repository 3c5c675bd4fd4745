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
    assert lines.pop(0) == "3 of 4 v1 jobs cannot be migrated; the others are printed:"
    assert lines.pop(0) == "none.yaml: cannot be read: No such file or directory"
    assert lines[0] == (
        "bad.yaml:8:7: spec.jaxReplicaSpecs.Worker.replica: unknown field; did you mean replicas?"
    )
    assert lines[1].startswith("bad.yaml:11:1: kind: has no counterpart: v2 has no TensorFlow")
    assert lines[2].startswith("broken.yaml:9:")


BESIDE = """\
apiVersion: v1
kind: Service
metadata: {name: board}
spec: {selector: {training.kubeflow.org/job-name: a}, ports: [{port: 6006}]}
---
"""
SCRIPT = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: script}
data: {run: "echo $(hostname)", token: hf_abcdefghijABCDEFGHIJ0123456789abcd}
"""


def test_other_objects_stay_where_they_are_with_the_names_of_v2(shared_cli: Command) -> None:
    file = shared_cli.write("all/all.yaml", f"{BESIDE}{job('a')}{SCRIPT}")
    for path in (file, "all"):
        done = shared_cli("migrate", path)
        assert done.code == 0
        service, *others = yaml.safe_load_all(done.out)
        assert service["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": "a"}
        assert [each["kind"] for each in others] == ["TrainingRuntime", "TrainJob", "ConfigMap"]
        assert "data.run: 'echo $(hostname)': reads the host name" in done.err
    items = json.loads(shared_cli("migrate", file, "-o", "json").out)["items"]
    assert [each["kind"] for each in items][::3] == ["Service", "ConfigMap"]
    program = shared_cli("migrate", file, "-o", "python")
    assert "Service" not in program.out
    left = "is left out: the program must declare it with a resource of its own kind"
    assert f"Service board (all/all.yaml:1): {left}" in program.err


def test_a_file_without_a_v1_job_says_so(shared_cli: Command) -> None:
    done = shared_cli("migrate", shared_cli.write("beside.yaml", BESIDE))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("no v1 job in beside.yaml; known are PyTorchJob, ")


def test_notes_tell_no_secret(shared_cli: Command) -> None:
    token = "hf_abcdefghijABCDEFGHIJ0123456789abcd"
    line = f"[python, t.py, --token, {token}, --password=Kirschbaum2031, a-worker-$i]"
    text = job("a").replace("[python, t.py]", line)
    done = shared_cli("migrate", shared_cli.write("secret.yaml", text))
    assert "names a v1 pod" in done.err
    told = done.err + "".join(each for each in done.out.splitlines() if each.startswith("#"))
    assert token not in told
    lost = text.replace("a-worker-$i", "x").replace("kind: JAXJob", "kind: XGBoostJob")
    lost = lost.replace("jaxReplicaSpecs", "xgbReplicaSpecs").replace(
        "{name: jax", "{name: xgboost"
    )
    master = lost.replace(
        "    Worker:",
        "    Master: {template: {spec: {containers: [{name: xgboost, image: i}]}}}\n    Worker:",
    )
    done = shared_cli("migrate", shared_cli.write("lost.yaml", master))
    assert "differs from Worker's" in done.err
    assert token not in done.err
    assert "Kirschbaum2031" not in done.err


def test_what_only_v2_refuses_names_the_v1_job(shared_cli: Command) -> None:
    name = "j" * 60
    done = shared_cli("migrate", shared_cli.write("long.yaml", job(name)))
    assert done.code == 1
    assert done.err.startswith(f"long.yaml:1: JAXJob {name}: TrainJob {name}: metadata.name: ")


def test_nothing_is_printed_where_nothing_can_be_migrated(shared_cli: Command) -> None:
    done = shared_cli("migrate", shared_cli.write("tf.yaml", "kind: TFJob\n"))
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
