"""Values of Secrets and generated keys are in the Secrets and nowhere else."""

import base64
import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization

from tests.cluster.submissions import OTHER, OWNER, SECRET, Job
from tests.cluster.world import World, container, ended, waiting
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.errors import NotAvailable
from trainer_infra.runs.run import LogSelection, RunKey, run_to_json


def mpi(job: Job) -> Job:
    job.runtime, job.code, job.secrets = "deepspeed-distributed", None, {"token": SECRET}
    return job


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_no_object_but_the_secrets_holds_a_value_or_a_key(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(mpi(job).submission())
    keys = world.there("Secret", "tj-mpi-ssh-auth")["data"]
    hidden = [SECRET, encoded(SECRET), *keys.values()]
    hidden += [base64.b64decode(each).decode() for each in keys.values()]
    shown = [run_to_json(run)]
    for kind, names in world.all_names().items():
        shown += [world.there(kind, name) for name in names if kind != "Secret"]
    found = cluster.get(job.namespace, "tj")
    assert found is not None
    text = json.dumps([*shown, run_to_json(found)])
    assert [each for each in hidden if each in text or json.dumps(each)[1:-1] in text] == []
    assert len(shown) == 4


def test_values_are_written_as_given_and_replaced_without_a_new_run(
    either: ClusterRuns, world: World, job: Job
) -> None:
    run = either.submit(mpi(job).submission())
    assert world.there("Secret", "tj-secret")["data"] == {"token": encoded(SECRET)}
    jobset = world.there("JobSet", "tj")
    either.update_secrets(RunKey(job.namespace, "tj", run.uid), {"token": "new"})
    assert world.there("Secret", "tj-secret")["data"] == {"token": encoded("new")}
    assert world.there("JobSet", "tj") == jobset


@pytest.mark.parametrize("backend", [OWNER.backend, "another"])
def test_a_run_that_is_found_again_has_the_values_of_this_submit(
    either: ClusterRuns, world: World, job: Job, backend: str
) -> None:
    job.secrets = {"token": SECRET}
    first = either.submit(job.submission())
    job.secrets, job.owner = {"token": "new"}, replace(OWNER, backend=backend)
    again = either.submit(job.submission(), adopt=True)
    assert again.uid == first.uid
    assert world.there("Secret", "tj-secret")["data"] == {"token": encoded("new")}


def test_generated_keys_are_a_pair_and_are_made_once(
    cluster: Cluster, world: World, job: Job
) -> None:
    cluster.submit(mpi(job).submission())
    secret = world.there("Secret", "tj-mpi-ssh-auth")
    private = base64.b64decode(secret["data"]["ssh-privatekey"])
    key = serialization.load_pem_private_key(private, None).public_key()
    line = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert base64.b64decode(secret["data"]["ssh-publickey"]) == line + b"\n"
    job.owner = OTHER
    cluster.submit(job.submission(), adopt=True)
    assert world.there("Secret", "tj-mpi-ssh-auth")["data"] == secret["data"]


def failed_with_words(either: ClusterRuns, world: World, job: Job) -> None:
    """A run whose program left its secret as its last words."""
    job.secrets = {"token": SECRET}
    either.submit(job.submission())
    world.pod(phase="Failed", containerStatuses=[container(ended(3, message=f"using {SECRET}"))])


def test_a_secret_in_a_programs_last_words_is_hidden_and_kept_nowhere(
    cluster: Cluster, world: World, job: Job
) -> None:
    failed_with_words(cluster, world, job)
    (listed,) = cluster.list_runs(job.namespace).runs
    world.end("Failed")
    found = cluster.get(job.namespace, "tj")
    described = cluster.described(RunKey(job.namespace, "tj"))
    assert found is not None
    assert described is not None
    assert "using <secret>" in found.message
    record = world.there("ConfigMap", "tj-runtime-snapshot")
    shown = [run_to_json(each) for each in (listed, found, described.run)]
    assert SECRET not in json.dumps([*shown, record])


def test_where_its_values_cannot_be_read_a_programs_words_are_left_out(
    cluster: Cluster, world: World, job: Job
) -> None:
    failed_with_words(cluster, world, job)
    world.client.delete(world.path("Secret", "tj-secret"))
    world.end("Failed")
    found = cluster.get(job.namespace, "tj")
    assert found is not None
    assert found.failure is not None
    assert "using" not in found.message
    (said,) = found.failure.last_lines
    assert said == (
        f"(lines are left out: they may hold values of Secret {job.namespace}/tj-secret, which could "
        "not be read to hide them; it needs the right to get secrets in namespace "
        f"{job.namespace})"
    )
    with pytest.raises(NotAvailable, match="lines are left out"):
        cluster.logs(RunKey(job.namespace, "tj"), LogSelection())
    assert SECRET not in json.dumps(world.there("ConfigMap", "tj-runtime-snapshot"))


@pytest.mark.parametrize("is_readable", [True, False])
def test_what_probes_and_hooks_print_is_hidden_where_the_kubelet_quotes_it(
    cluster: Cluster, world: World, job: Job, *, is_readable: bool
) -> None:
    pod = "tj-node-0-0-abcde"
    job.secrets = {"token": SECRET}
    cluster.submit(job.submission())
    counts = {"ready": 0, "active": 1, "succeeded": 0, "suspended": 0, "failed": 0}
    world.status("JobSet", "tj", {"replicatedJobsStatus": [{"name": "node", **counts}]})
    hook = waiting("PostStartHookError", f"Exec lifecycle hook failed, message: {SECRET}")
    world.pod(pod, phase="Pending", containerStatuses=[container(hook)])
    world.event(pod, "Unhealthy", f"Liveness probe failed: {SECRET}")
    world.event(pod, "Pulled", "Container image is there")
    if not is_readable:
        world.client.delete(world.path("Secret", "tj-secret"))
    described = cluster.described(RunKey(job.namespace, "tj"))
    assert described is not None
    said = {each.reason: each.message for each in described.events}
    assert SECRET not in json.dumps(run_to_json(described.run))
    assert described.run.stuck == f"pod {pod}: container node cannot start" + (
        ": Exec lifecycle hook failed, message: <secret>" if is_readable else ""
    )
    assert said.pop("Unhealthy").startswith(
        "Liveness probe failed: <secret>" if is_readable else "(lines are left out"
    )
    assert said == {"Pulled": "Container image is there"}
