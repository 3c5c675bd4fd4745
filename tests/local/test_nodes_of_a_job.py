"""Two nodes and more: ranks, rendezvous, order, jobs side by side."""

import json
from pathlib import Path

import pytest

from tests.local.jobs import (
    Job,
    eventually,
    finished,
    lines,
    log_has,
    now,
    python,
    replicated_job,
    shell,
)
from trainer_infra.local import runs

RENDEZVOUS = """
import os, socket, sys
address = os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"])
if os.environ["PET_NODE_RANK"] == "0":
    with socket.create_server(address) as server:
        peer, _ = server.accept()
        print("met", peer.recv(10).decode())
else:
    import time
    for _ in range(200):
        try:
            with socket.create_connection(address) as peer:
                peer.sendall(b"rank 1")
            sys.exit()
        except ConnectionRefusedError:
            time.sleep(0.02)
"""


def test_two_nodes_meet_at_the_rendezvous_address() -> None:
    run = finished(Job(command=python(RENDEZVOUS), nodes=2).submit())

    assert (run.phase, run.reason, run.message) == (
        "Complete",
        "AllJobsCompleted",
        "jobset completed successfully",
    )
    assert lines(run) == ["met rank 1"]
    assert [(node.pod, node.phase) for node in run.nodes] == [
        ("tj-node-0-0", "Succeeded"),
        ("tj-node-0-1", "Succeeded"),
    ]
    assert run.status["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}
    ]
    assert run.started
    assert run.finished >= run.started >= run.created


def test_jobs_side_by_side_have_rendezvous_ports_of_their_own() -> None:
    command = shell('echo "$PET_MASTER_PORT"; until [ -e ../../../../go ]; do sleep 0.02; done')
    first, second = (Job(command=command, name=name).submit() for name in ("one", "two"))
    eventually(lambda: lines(first) and lines(second))
    ports = {lines(first)[0], lines(second)[0]}

    assert len(ports) == 2
    assert "29500" not in ports


def test_the_coordinator_address_of_jax_is_a_free_loopback_port() -> None:
    command = shell("echo $JAX_COORDINATOR_ADDRESS $JAX_PROCESS_ID/$JAX_NUM_PROCESSES --port=29500")
    run = finished(Job(command=command, nodes=2, policy="jax").submit())
    said = [line.split() for line in lines(run)]

    assert {address.partition(":")[0] for address, *_ in said} == {"127.0.0.1"}
    assert len({address for address, *_ in said}) == 1
    assert said[0][0] != "127.0.0.1:29500"
    assert [rest for _, *rest in said] == [["0/2", "--port=29500"], ["1/2", "--port=29500"]]


def test_a_job_starts_when_those_it_depends_on_are_complete(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = replicated_job("first", shell(f"until [ -e {gate} ]; do sleep 0.02; done; echo first"))
    run = Job(command=shell("echo then"), jobs=[first]).submit()
    waiting = eventually(lambda: now(run) if now(run).waiting_for else None)
    assert (waiting.waiting_for, waiting.cause, waiting.stuck) == ("node waits for first", "", "")
    assert [node.phase for node in now(run).nodes] == ["Pending"]

    gate.touch()
    assert finished(run).phase == "Complete"
    assert lines(run, "tj-first-0-0") + lines(run, "tj-node-0-0") == ["first", "then"]
    assert now(run).waiting_for == ""


def test_init_containers_run_in_order_and_a_sidecar_beside() -> None:
    pod = {
        "initContainers": [
            {
                "name": "beside",
                "restartPolicy": "Always",
                "command": shell("echo beside > /shared/beside; sleep 60"),
                "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
            },
            {"name": "one", "command": shell("echo one")},
            {"name": "two", "command": shell("echo two")},
        ],
        "volumes": [{"name": "shared", "emptyDir": {}}],
    }
    job = Job(command=shell("echo main"), pod=pod)
    run = finished(job.submit())

    assert run.phase == "Complete"
    assert lines(run) == ["one", "two", "main"]


@pytest.mark.parametrize("code", ["os.fork() or os.setsid() or time.sleep(60)"])
def test_what_a_container_left_behind_ends_with_it(code: str) -> None:
    run = Job(command=python(f"import os, time; {code}; print('done')")).submit()

    assert finished(run, timeout=50).phase == "Complete"


def test_a_status_is_json() -> None:
    run = finished(Job(command=["true"]).submit())

    assert json.loads(json.dumps(run.status)) == run.status


def test_a_readiness_probe_decides_when_a_dependent_job_starts() -> None:
    first = replicated_job("first", shell("sleep 0.3; touch ready; sleep 60"))
    container = first["template"]["spec"]["template"]["spec"]["containers"][0]
    probe = {"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 0.05}
    container["readinessProbe"] = probe
    job = Job(command=shell("echo then"), jobs=[first])
    job.jobset = {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["node"]}}
    submission = job.submission()
    for each in (submission.runtime, *submission.objects):
        spec = each["spec"]["template"]["spec"] if "mlPolicy" in each["spec"] else each["spec"]
        spec["replicatedJobs"][1]["dependsOn"][0]["status"] = "Ready"
    run = runs.submit(submission)
    eventually(log_has(run, "then"))
    assert finished(run).phase == "Complete"
