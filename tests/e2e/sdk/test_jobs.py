"""What the SDK says of TrainJobs and does with them."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.e2e.jobs import eventually
from tests.e2e.sdk.defects import Expectation
from tests.e2e.sdk.started_jobs import JOBS
from tests.e2e.sdk.user import User

JSON = dict[str, Any]
ENDLESS = """
    trainer = CustomTrainer(functions.say_lines, func_args={"lines": 2, "seconds": 600}, image=image)
    return client.train("plain", trainer=trainer)
"""
FOLLOWED = """
    trainer = CustomTrainer(functions.say_lines, func_args={"lines": 5, "seconds": 1}, image=image)
    name = client.train("plain", trainer=trainer)
    client.wait_for_job_status(name, {"Running", "Complete"}, timeout=240, polling_interval=1)
    return client.get_job_logs(name, follow=True)
"""
RUNS = "return client.wait_for_job_status(name, {'Running'}, timeout=240, polling_interval=1)"


def steps(job: JSON) -> dict[str, str]:
    return {each["name"]: each["status"] for each in job["steps"]}


def test_get_job_is_created_while_pods_wait(user: User) -> None:
    job = user.run("return client.get_job('pending')")
    assert (job["status"], job["runtime"]["name"], job["num_nodes"]) == ("Created", "plain", 1)
    assert eventually(lambda: steps(user.run("return client.get_job('pending')")))
    assert steps(user.run("return client.get_job('pending')")) == {"node-0": "Pending"}


def test_get_job_is_running_once_every_node_runs(user: User) -> None:
    job = user.run(RUNS, name="running")
    assert (job["status"], job["num_nodes"]) == ("Running", 2)
    assert steps(job) == {"node-0": "Running", "node-1": "Running"}
    assert {each["pod_name"] for each in job["steps"]} <= set(user.namespace.names("pods"))


def test_get_job_knows_the_steps_and_devices_of_what_is_complete(user: User) -> None:
    assert user.ended("digits") == "Complete"
    digits = user.run("return client.get_job('digits')")
    assert steps(digits) == {"node-0": "Succeeded", "node-1": "Succeeded"}
    # Half a processor is one process, as torchrun counts.
    assert {(each["device"], each["device_count"]) for each in digits["steps"]} == {("cpu", "1")}

    assert user.ended("fetching") == "Complete"
    fetching = user.run("return client.get_job('fetching')")
    expected = dict.fromkeys(("dataset-initializer", "model-initializer", "node-0"), "Succeeded")
    assert steps(fetching) == expected


def test_get_job_knows_what_failed_and_what_is_not_there(user: User) -> None:
    assert user.ended("failing") == "Failed"
    assert steps(user.run("return client.get_job('failing')")) == {"node-0": "Failed"}

    error = user.refused("return client.get_job('absent')")
    assert (error["type"], error["status"]) == ("RuntimeError", 404)


def test_list_jobs_has_all_or_those_of_a_runtime(user: User) -> None:
    listed = user.run("return client.list_jobs()")
    assert set(JOBS) <= {each["name"] for each in listed}

    code = "return [each.name for each in client.list_jobs(client.get_runtime(runtime))]"
    assert user.run(code, runtime="torch-distributed") == ["digits"]
    assert user.run(code, runtime="jax-distributed") == []


def test_logs_are_there_without_following(user: User) -> None:
    user.run(RUNS, name="running")
    lines = eventually(lambda: user.run("return client.get_job_logs('running', 'node-1')"))
    assert lines == ["line 0"]
    assert user.run("return client.get_job_logs('pending')") == []
    assert user.run("return client.get_job_logs('running', 'node-7')") == []


def test_following_logs_ends_with_the_last_line(user: User, image: str) -> None:
    lines = user.run(FOLLOWED, image=image)
    assert lines == [f"line {number}" for number in range(5)]


def test_waiting_returns_at_a_status_raises_at_a_failure_and_gives_up(user: User) -> None:
    code = """
        seen = []
        job = client.wait_for_job_status("container", timeout=240, polling_interval=1,
                                         callbacks=[lambda each: seen.append(each.status)])
        return job.status, seen[-1]
    """
    assert user.run(code) == ["Complete", "Complete"]

    failed = user.refused("return client.wait_for_job_status('failing', polling_interval=1)")
    assert (failed["type"], failed["message"]) == ("RuntimeError", "TrainJob failing is Failed")

    code = "return client.wait_for_job_status('pending', timeout=2, polling_interval=1)"
    assert user.refused(code)["type"] == "TimeoutError"


def test_delete_job_takes_the_jobset_and_the_pods_along(user: User, image: str) -> None:
    name = user.run(ENDLESS, image=image)
    assert re.fullmatch(r"[a-z][0-9a-f]{11}", name)
    user.run(RUNS, name=name)

    user.run("client.delete_job(name)", name=name)

    assert user.refused("return client.get_job(name)", name=name)["status"] == 404
    eventually(lambda: name not in user.namespace.names("jobsets"))
    eventually(lambda: not any(pod.startswith(name) for pod in user.namespace.names("pods")))
    again = user.refused("client.delete_job(name)", name=name)
    assert (again["type"], again["status"]) == ("RuntimeError", 404)


def test_a_trainjob_outlives_its_runtime_without_which_the_sdk_reads_none(
    new_user: Callable[[], User], image: str
) -> None:
    """sdk#797, a defect of the SDK: no control plane hinders the end of a runtime."""
    user = new_user()
    code = """
        trainer = CustomTrainer(functions.say_lines, func_args={"lines": 1, "seconds": 3}, image=image)
        return client.train("plain", trainer=trainer)
    """
    name = user.run(code, image=image)
    eventually(lambda: f"{name}-runtime-snapshot" in user.namespace.names("configmaps"))

    user.namespace.kubectl("delete", "trainingruntime", "plain")

    for reading in ("client.get_job(name)", "client.list_jobs()"):
        error = user.refused(f"return {reading}", name=name)
        assert error["type"] == "RuntimeError"
    done = eventually(lambda: user.stored(name).get("status", {}).get("conditions"))
    assert [(each["type"], each["status"]) for each in done] == [("Complete", "True")]


def test_a_suspended_trainjob_runs_again_once_it_is_resumed(
    user: User, image: str, expectation: Expectation
) -> None:
    def job() -> JSON:
        found: JSON = user.run("return client.get_job(name)", name=name)
        return found

    name = user.run(ENDLESS, image=image)
    user.run(RUNS, name=name)
    suspend(user, name, value=True)
    eventually(lambda: not job()["steps"])
    assert job()["status"] == "Created"

    suspend(user, name, value=False)

    eventually(lambda: steps(job()) == {"node-0": "Running"})
    with expectation.met():
        assert eventually(lambda: job()["status"] == "Running", expectation.patience)


def suspend(user: User, name: str, *, value: bool) -> None:
    patch = json.dumps({"spec": {"suspend": value}})
    user.namespace.kubectl("patch", "trainjob", name, "--type=merge", "-p", patch)
