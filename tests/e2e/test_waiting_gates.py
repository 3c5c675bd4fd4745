"""A gate that can never come to its event ends, with the cluster's own words; commands say the same."""

import json
from textwrap import dedent

import pytest

from from_source.cluster import base_image
from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.standstills import FAILS, NEVER, quota
from tests.e2e.test_command import start

JOB = """
TrainJob("job", runtime=tried_once("jax-distributed"), namespace=NS, name="job", trainer=on(),
         wait_for="complete")
"""
SIDECAR = """
runtime = tried_once("jax-distributed")
spec = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
spec["restartPolicy"] = "Never"
spec["initContainers"] = [
    {{"name": "side", "image": {image!r}, "restartPolicy": "Always", "command": {command},
     "startupProbe": {probe}}}
]
TrainJob("job", runtime=runtime, namespace=NS, name="job", trainer=on(), wait_for="complete")
"""
BATCH = """
from trainer_infra import TrainJobs

def one(**more):
    runtime = tried_once("jax-distributed")
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"] |= more
    return {"runtime": runtime, "namespace": NS, "trainer": on()}

TrainJobs("sweep", {
    "good": one(),
    "account": one(serviceAccountName="nope"),
    "priority": one(priorityClassName="nope"),
    "image": {**one(), "trainer": CustomTrainer(train, image="trainer-infra.invalid/no/body:1")},
}, wait_for="complete")
"""


def no_jobs(namespace: Namespace) -> None:
    """A quota of zero Jobs, in force."""
    text = json.dumps(quota(count__jobs_batch="0"))
    namespace.kubectl("apply", "-f", "-", given=text)
    eventually(lambda: namespace.all("resourcequotas")[0].get("status", {}).get("hard"))


@pytest.mark.soak
def test_a_gate_ends_on_a_quota_of_no_jobs_and_the_next_up_waits_again(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    no_jobs(namespace)
    cluster_stack.program(PROGRAM + dedent(JOB))
    shown = cluster_stack.up(ok=False)
    said = "Jobs of node cannot be made: jobs.batch "
    assert f"TrainJob job is stuck: {said}" in shown
    assert "exceeded quota: small, requested: count/jobs.batch=1" in shown
    assert "it stays in the cluster, the next `pulumi up` waits for it again" in shown
    assert "Traceback" not in shown
    (jobset,) = namespace.all("jobsets")

    here = ("-n", namespace.name)
    described = cluster_stack.trainer("describe", "job", *here)
    assert f"Stuck:        {said}" in described
    assert "JobCreationFailed" in described.split("Events:")[1]
    assert f"stuck: {said}" in cluster_stack.trainer("get", "job", *here)
    run = json.loads(cluster_stack.trainer("get", "job", "-o", "json", *here))
    assert (run["cause"], run["phase"]) == ("quota-too-small", "Created")
    following = start(cluster_stack, "logs", "-f", "job", *here)
    assert following.stderr is not None
    assert following.stderr.readline().startswith(f"job cannot start: {said}")
    following.kill()
    following.communicate()

    namespace.kubectl("delete", "resourcequota", "small")
    cluster_stack.up()
    (same,) = namespace.all("jobsets")
    assert same["metadata"]["uid"] == jobset["metadata"]["uid"]
    assert same["status"]["terminalState"] == "Completed"


@pytest.mark.soak
def test_a_gate_ends_on_a_sidecar_that_fails_for_ever(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    program = SIDECAR.format(image=base_image.NAME, command=FAILS, probe=NEVER)
    cluster_stack.program(PROGRAM + dedent(program))
    shown = cluster_stack.up(ok=False)
    assert "TrainJob job is stuck: pod job-node-0-" in shown
    assert "container side fails again and again, last with exit code 11" in shown
    here = ("-n", namespace.name)
    following = start(cluster_stack, "logs", "-f", "job", *here)
    assert following.stderr is not None
    assert "container side fails again and again" in following.stderr.readline()
    following.kill()
    following.communicate()


def test_the_gate_of_a_batch_names_each_member_that_stands_still(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    cluster_stack.program(PROGRAM + dedent(BATCH))
    shown = cluster_stack.up(ok=False)
    assert "3 of 4 TrainJobs failed or cannot go on" in shown
    assert 'serviceaccount "nope" not found' in shown
    assert "no PriorityClass with name nope was found" in shown
    assert "trainer-infra.invalid/no/body:1" in shown
    assert shown.count("is stuck: ") == shown.count("it stays in the cluster")
    assert "Traceback" not in shown
    assert len(namespace.names("jobsets")) == 4
