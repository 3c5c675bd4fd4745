"""Reports of nodes over HTTPS, as the training posts them."""

from tests.local.jobs import Job, eventually, finished, lines, now, python

POST = """
import json, os, ssl, sys, urllib.error, urllib.request
def post(status, token=None):
    context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    token = token or open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    url, body = os.environ["KUBEFLOW_TRAINER_SERVER_URL"], json.dumps(status).encode()
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
rank = int(os.environ["PET_NODE_RANK"])
"""


def test_reports_are_the_runs_progress_and_each_nodes_own() -> None:
    code = """
status = {"progressPercentage": 50 + rank, "lastUpdatedTime": "2026-01-02T03:04:05Z",
          "metrics": [{"name": "loss", "value": f"0.{rank}"}]}
print(post({"trainerStatus": status}) == (200, {"trainerStatus": status}))
"""
    run = finished(Job(command=python(POST + code), nodes=2).submit())

    assert lines(run) == ["True", "True"]
    assert [(node.progress, dict(node.metrics)) for node in run.nodes] == [
        (50, {"loss": "0.0"}),
        (51, {"loss": "0.1"}),
    ]
    assert run.status["trainerStatus"] == {
        "progressPercentage": 50,
        "metrics": [{"name": "loss", "value": "0.0"}],
        "lastUpdatedTime": "2026-01-02T03:04:05Z",
    }


def test_progress_is_seen_while_the_run_goes_on() -> None:
    code = """
import time
post({"trainerStatus": {"progressPercentage": 7, "lastUpdatedTime": "2026-01-02T03:04:05Z"}})
time.sleep(60)
"""
    run = Job(command=python(POST + code)).submit()

    eventually(lambda: [node.progress for node in now(run).nodes] == [7])


def test_a_wrong_token_is_forbidden_and_a_broken_limit_said() -> None:
    code = """
print(post({}, token="wrong")[0], post({})[0], post({"trainerStatus": []})[0])
print(post({"trainerStatus": {"progressPercentage": 101, "lastUpdatedTime": "2026-01-02T03:04:05Z"}})[1]["message"])
print(post({"x": "x" * 70000})[0])
"""
    run = finished(Job(command=python(POST + code)).submit())

    assert lines(run) == [
        "403 200 422",
        (
            'TrainJob.trainer.kubeflow.org "tj" is invalid: '
            "status.trainerStatus.progressPercentage: Invalid value: 101: "
            "trainerStatus.progressPercentage in body should be less than or equal to 100"
        ),
        "413",
    ]
    assert "trainerStatus" not in run.status
