"""Values of Secrets and generated keys are in the Secrets and nowhere else."""

import base64
import json

from cryptography.hazmat.primitives import serialization

from tests.cluster.submissions import OTHER, SECRET, Job
from tests.cluster.world import World
from trainer_infra.cluster.runs import Cluster
from trainer_infra.lifecycle.run import run_to_json


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
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(mpi(job).submission())
    assert world.there("Secret", "tj-secret")["data"] == {"token": encoded(SECRET)}
    jobset = world.there("JobSet", "tj")
    cluster.update_secrets(job.namespace, "tj", run.uid, {"token": "new"})
    assert world.there("Secret", "tj-secret")["data"] == {"token": encoded("new")}
    assert world.there("JobSet", "tj") == jobset


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
