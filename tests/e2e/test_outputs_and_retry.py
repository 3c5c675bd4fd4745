"""On a real cluster: what a run leaves behind, runs that run again, and sweeps that take turns."""

from collections.abc import Iterator
from textwrap import dedent

import pytest

from tests.deploy.project import Stack, most_at_once
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually

CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""
SAVING = """
def save(text, known):
    import os
    from trainer_infra.storage import mounted, output
    folder = output("model")
    print("before:", sorted(os.listdir(mounted(folder + "/.."))) if known else "", flush=True)
    open(os.path.join(folder, text), "w").write(text)
    print("kept:", sorted(os.listdir(folder)), flush=True)

job = TrainJob("job", runtime="plain-distributed", namespace=NS, wait_for="complete",
               outputs={outputs},
               trainer=CustomTrainer(save, func_args={args}, image=place["image"],
                                     resources_per_node={{"cpu": "50m"}}))
pulumi.export("outputs", job.outputs)
pulumi.export("result", job.result.outputs)
"""
ONCE = """
def once():
    import os, sys
    from trainer_infra.storage import output
    again = os.path.exists(output("model") + "/tried")
    open(output("model") + "/tried", "w").close()
    sys.exit(0 if again else 42)

runtime = tried_once("plain-distributed")
job = TrainJob("job", runtime=runtime, namespace=NS, wait_for="complete",
               outputs={"model": "pvc://models/fixed"},
               trainer=CustomTrainer(once, image=place["image"], resources_per_node={"cpu": "50m"}))
pulumi.export("status", job.status)
"""
SWEEP = """
from trainer_infra import TrainJobs
def one(**arguments):
    return {"runtime": tried_once("plain-distributed"), "namespace": NS,
            "trainer": CustomTrainer(quick, func_args=arguments, image=place["image"],
                                     resources_per_node={"cpu": "50m"})}
def quick(index, code=0):
    import sys, time
    print("member", index, flush=True)
    time.sleep(1.1)  # the kubelet counts whole seconds
    sys.exit(code)

jobs = {str(index): one(index=index) for index in range(3)}
jobs["bad"] = one(index=9, code=42)
sweep = TrainJobs("sweep", jobs, wait_for="complete", max_parallel=1, tolerate_failures=1)
pulumi.export("ended", sweep.results.apply(sorted))
pulumi.export("failed", sweep.failures.apply(sorted))
"""


def saving(text: str, outputs: str = '["model"]') -> str:
    arguments = {"text": text, "known": "pvc" in outputs}
    return PROGRAM + dedent(SAVING.format(outputs=outputs, args=arguments))


def test_a_model_stays_in_its_claim_when_the_run_is_replaced_and_destroyed(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    cluster_stack.program(saving("one"))
    assert "has no place in a cluster" in cluster_stack.preview(ok=False)
    cluster_stack.run("config", "set", "trainer:outputs", "pvc://models/digits")

    cluster_stack.up()

    name = cluster_stack.job()["name"]
    kept = {"model": f"pvc://models/digits/{namespace.name}/{name}/model"}
    assert cluster_stack.outputs() == {"outputs": kept, "result": kept}
    assert f"model={kept['model']}" in cluster_stack.trainer("get", name, "-n", namespace.name)
    cluster_stack.unchanged()
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()

    # The next run looks into the folder of the first one.
    where = kept["model"]
    cluster_stack.program(saving("two", f'{{"model": "{where}"}}'))
    cluster_stack.up()
    said = cluster_stack.trainer("logs", cluster_stack.job()["name"], "-n", namespace.name)
    assert "kept: ['one', 'two']" in said

    assert f"are kept: model={where}" in cluster_stack.run("destroy", "--yes", "--skip-preview")
    eventually(lambda: namespace.all("jobsets") == [])
    assert namespace.names("persistentvolumeclaims") == ["models"]


@pytest.mark.soak
def test_a_failed_run_is_retried_and_the_next_up_agrees(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    cluster_stack.program(PROGRAM + dedent(ONCE))
    shown = cluster_stack.up(ok=False)
    job = cluster_stack.job()
    again = f"trainer-infra retry {job['name']} -n {namespace.name}"
    assert f"run it again as it is: {again}" in shown
    (before,) = namespace.all("jobsets")

    assert f"{job['name']} runs again" in cluster_stack.trainer(*again.split()[1:])

    (after,) = namespace.all("jobsets")
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    cluster_stack.up()
    assert cluster_stack.outputs() == {"status": "Complete"}
    assert cluster_stack.job()["uid"] == job["uid"]
    cluster_stack.unchanged()
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()


@pytest.mark.soak
def test_members_take_turns_and_the_others_results_are_there(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    cluster_stack.program(PROGRAM + dedent(SWEEP))

    cluster_stack.up()

    assert cluster_stack.outputs() == {"ended": ["0", "1", "2"], "failed": ["bad"]}
    assert most_at_once(spans(namespace)) == 1
    cluster_stack.unchanged()
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()


def spans(namespace: Namespace) -> Iterator[tuple[str, str]]:
    """When the container of each pod began and ended."""
    for pod in namespace.all("pods"):
        (status,) = pod["status"]["containerStatuses"]
        ended = status["state"]["terminated"]
        yield ended["startedAt"], ended["finishedAt"]
