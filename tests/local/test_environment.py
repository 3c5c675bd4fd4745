"""What a pod's processes see: env, working directory, volumes, secrets."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.local.jobs import Job, eventually, finished, left, lines, python, shell, supervision
from trainer_infra import names
from trainer_infra.local import runs
from trainer_infra.runs.run import RunKey

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def env_of(job: Job) -> dict[str, str]:
    run = finished(job.submit())
    assert run.phase == "Complete", run.message
    found: dict[str, str] = json.loads(lines(run)[-1])
    return found


def test_nothing_of_the_callers_environment_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("PIP_INDEX_URL", "hunter2")
    monkeypatch.setenv("LC_TIME", "C")
    env = env_of(Job(command=python(SHOW)))

    assert "hunter2" not in env.values()
    assert env["LC_TIME"] == "C"
    assert env["HOME"] == os.environ["HOME"]
    assert env["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert env["PYTHONUNBUFFERED"] == "1"
    assert env["GLOO_SOCKET_IFNAME"] == "lo"
    assert set(env) - set(os.environ) - {"LC_CTYPE"} == {
        "GLOO_SOCKET_IFNAME",
        "HOSTNAME",
        "JOB_COMPLETION_INDEX",
        "KUBEFLOW_TRAINER_SERVER_CA_CERT",
        "KUBEFLOW_TRAINER_SERVER_TOKEN",
        "KUBEFLOW_TRAINER_SERVER_URL",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "PET_LOCAL_ADDR",
        "PET_NNODES",
        "PET_NODE_RANK",
        "PET_NPROC_PER_NODE",
        "PYTHONUNBUFFERED",
        "TP_SOCKET_IFNAME",
        names.PROCESS_MARK,
    } - set(os.environ)


def test_no_supervisor_has_a_secret_of_the_caller_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hunter2")
    run = Job(command=["sleep", "60"]).submit()
    eventually(lambda: len(supervision(run)) == 2)

    assert all("PULUMI_CONFIG_PASSPHRASE" not in each.environ() for each in left(run))


def test_env_is_made_as_kubernetes_makes_it() -> None:
    config = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v", "x": "y"}}
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"p": "<secret>"}}
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)$(NOT)$$(A)"},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "tj-secret", "key": "p"}}},
        {
            "name": "O",
            "valueFrom": {"secretKeyRef": {"name": "no", "key": "p", "optional": True}},
        },
        {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {
            "name": "M",
            "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
        },
        {"name": "H", "value": "http://tj-node-0-0.tj.default.svc.cluster.local:29500/x"},
    ]
    spec = {
        "trainer": {
            "command": python(SHOW),
            "env": env,
            "resourcesPerNode": {"limits": {"cpu": "1500m", "memory": "1G"}},
        }
    }
    job = Job(spec=spec, objects=[config, secret], secrets={"p": "open"})
    found = env_of(job)

    assert {key: found.get(key) for key in "ABCSORM"} == {
        "A": "1",
        "B": "1$(NOT)$(A)",
        "C": "v",
        "S": "open",
        "O": None,
        "R": "2",
        "M": "954",
    }
    assert (found["N"], found["IP"]) == ("tj-node-0-0", "127.0.0.1")
    assert found["H"] == f"http://127.0.0.1:{found['PET_MASTER_PORT']}/x"


def test_volumes_are_folders_at_their_mount_paths() -> None:
    config = {
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"a": "host tj-node-0-0.tj:29500\n", "b": "b"},
    }
    mounts = [
        {"name": "config", "mountPath": "/etc/config"},
        {"name": "data", "mountPath": "/data/", "subPath": "sub"},
        {"name": "scratch", "mountPath": "/etc/config/scratch"},
    ]
    code = (
        "cat /etc/config/deep/a; touch /etc/config/scratch/x --; ls $D; "
        "echo s3://data file:///data/x /data.bak; pwd"
    )
    pod = {
        "volumes": [
            {
                "name": "config",
                "configMap": {"name": "c", "items": [{"key": "a", "path": "deep/a"}]},
            },
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "scratch", "emptyDir": {}},
        ],
        "containers": [
            {
                "name": "node",
                "image": "none",
                "workingDir": "/data/work",
                "volumeMounts": mounts,
                "env": [{"name": "D", "value": "/etc/config/scratch"}],
            }
        ],
    }
    run = finished(Job(command=shell(code), pod=pod, objects=[config]).submit())
    said = lines(run)
    claim = said[3]

    assert run.phase == "Complete", (run.message, said)
    assert said[0].startswith("host 127.0.0.1:")
    assert said[0] != "host 127.0.0.1:29500"
    assert said[1] == "x"
    assert claim.endswith("/claims/claim/sub/work")
    folder = claim.removesuffix("/work")
    assert said[2] == f"s3://data file://{folder}/x /data.bak"


def test_later_tries_get_a_changed_secret(tmp_path: Path) -> None:
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"p": "<secret>"}}
    gate = tmp_path / "gate"
    code = f"echo $P; until [ -e {gate} ]; do sleep 0.02; done"
    env = [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "tj-secret", "key": "p"}}}]
    job = Job(command=shell(code), env=env, objects=[secret], secrets={"p": "old"})
    run = job.submit()
    while not lines(run):
        pass
    runs.update_secrets(RunKey("default", "tj", run.uid), {"p": "new"})
    runs.suspend(RunKey("default", "tj", run.uid), True)
    gate.touch()
    runs.suspend(RunKey("default", "tj", run.uid), False)

    finished(run)
    assert lines(run) == ["old", "new"]


@pytest.mark.parametrize("interpreter", ["python", "python3"])
def test_python_is_the_interpreter_that_submitted(interpreter: str) -> None:
    code = "import sys; print(sys.prefix)"
    run = finished(Job(command=[interpreter, "-c", code]).submit())

    assert lines(run) == [sys.prefix]
