"""The commands about runs on a real API server; its pods, events and ends are written by the test."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cli.command import interrupt
from tests.cli.conftest import Team
from tests.cluster.world import JSON, RUNNING, container, ended, ok, waiting
from tests.warm_start import Done
from trainer_infra import names

CLUSTER = ("--target", "kubernetes")
MISSING_IMAGE = waiting("ImagePullBackOff", 'Back-off pulling image "nowhere:1"')


def rows(text: str) -> list[list[str]]:
    """The cells of each line."""
    return [line.split() for line in text.splitlines()]


def asked(team: Team, *arguments: str) -> Done:
    return team.command(*arguments, *CLUSTER)


def running(team: Team, name: str = "tj", **more: Any) -> None:
    """A run with one pod that runs on a node with GPUs."""
    gpus = {"trainer": {"numNodes": 1, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}}
    team.submit(name, spec=gpus, **more)
    pod = f"{name}-node-0-0-abcde"
    labels = {
        names.JOBSET_NAME_LABEL: name,
        names.REPLICATED_JOB_LABEL: "node",
        names.JOB_INDEX_LABEL: "0",
        names.COMPLETION_INDEX: "0",
    }
    holder = {"name": "node", "image": "none", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    team.world.make(
        "Pod",
        {
            "metadata": {"name": pod, "labels": labels},
            "spec": {"containers": [holder], "restartPolicy": "Never", "nodeName": "gpu-1"},
        },
    )
    status = {"phase": "Running", "startTime": "2026-11-21T12:00:00Z"}
    team.world.status("Pod", pod, {**status, "containerStatuses": [container(RUNNING)]})


def test_runs_of_the_contexts_namespace_are_listed_with_their_gpus(team: Team) -> None:
    said = f"no runs in namespace {team.world.namespace} on the cluster of context trainer-infra\n"
    empty = asked(team, "get")
    assert (empty.code, empty.out, empty.err) == (0, "", said)
    running(team)
    time.sleep(1.1)  # the API server keeps whole seconds
    team.submit("other")
    head, *found = rows(asked(team, "get").out)
    assert head == ["NAMESPACE", "NAME", "PHASE", "PROGRESS", "READY", "GPUS", "AGE", "STACK"]
    here = team.world.namespace
    assert [row[:6] + row[7:] for row in found] == [
        [here, "tj", "Running", "-", "1/1", "8", "digits/dev"],
        [here, "other", "Created", "-", "0/0", "0", "digits/dev"],
    ]
    assert [here, "tj"] in [row[:2] for row in rows(asked(team, "get", "-A").out)]
    assert asked(team, "get", "-n", "default").code == 0
    listed = json.loads(asked(team, "get", "-o", "json").out)["items"]
    assert [each["name"] for each in listed] == ["tj", "other"]
    only = json.loads(asked(team, "get", "--phase", "running", "-o", "json").out)["items"]
    assert [each["name"] for each in only] == ["tj"]
    assert asked(team, "get", "--project", "nobodys").out == ""


def test_one_run_shows_its_nodes_with_hosts_and_gpus(team: Team) -> None:
    running(team)
    shown = asked(team, "get", "tj").out
    assert rows(shown)[-2:] == [
        ["STEP", "POD", "HOST", "GPUS", "PHASE", "RESTARTS", "PROGRESS"],
        ["node", "tj-node-0-0-abcde", "gpu-1", "8", "Running", "0", "-"],
    ]
    one = json.loads(asked(team, "get", "tj", "-o", "json").out)
    assert (one["nodes"][0]["host"], one["nodes"][0]["gpus"]) == ("gpu-1", 8)


def test_a_run_that_cannot_go_on_is_described_with_why_and_its_events(team: Team) -> None:
    team.submit()
    counts = {"ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
    team.world.status("JobSet", "tj", {"replicatedJobsStatus": [{"name": "node", **counts}]})
    team.world.pod(node="n1", phase="Pending", containerStatuses=[container(MISSING_IMAGE)])
    for seconds, reason in ((20, "BackOff"), (10, "Pulling")):
        event(team, reason, datetime.now(UTC) + timedelta(seconds=seconds))
    sections = asked(team, "describe", "tj").out.split("\n\n")
    facts = dict(line.split(":", 1) for line in sections[0].splitlines())
    assert facts["Phase"].strip() == "Created"
    assert facts["Runtime"].strip() == "torch-distributed"
    assert facts["Resources"].strip() == "1 node"
    assert facts["Image"].strip().startswith("pytorch/")
    assert "tj-node-0-0-abcde" in facts["Stuck"]
    assert "nowhere:1" in facts["Stuck"]
    assert facts["Target"].strip().startswith("kubernetes, cluster ")
    assert facts["Declared by"].strip().endswith("of stack dev of project digits")
    assert rows(sections[-3])[-1] == ["node", "0", "1", "0", "0", "0"]
    title, head, *events = rows(sections[-1])
    assert (title, head) == (["Events:"], ["AGE", "TYPE", "REASON", "ABOUT", "COUNT", "MESSAGE"])
    assert [each[2:5] for each in events] == [
        ["Pulling", "Pod", "tj-node-0-0-abcde"],
        ["BackOff", "Pod", "tj-node-0-0-abcde"],
    ]


def event(team: Team, reason: str, at: datetime) -> None:
    """What the kubelet says of the run's pod."""
    time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": "Pod", "name": "tj-node-0-0-abcde", "namespace": team.world.namespace}
    team.world.make(
        "Event",
        {
            "metadata": {"name": f"tj.{reason.lower()}"},
            "involvedObject": {**about, "apiVersion": "v1"},
            "reason": reason,
            "message": f"{reason} the image",
            "type": "Warning",
            "firstTimestamp": time,
            "lastTimestamp": time,
        },
    )


def test_a_changed_field_of_ours_is_described_as_drift(team: Team) -> None:
    team.submit()

    def changed(value: JSON) -> None:
        value["metadata"]["labels"][names.STACK_LABEL] = "prod"

    team.world.change("JobSet", "tj", changed, fieldManager="somebody")
    sections = asked(team, "describe", "tj").out.split("\n\n")
    drift = next(each for each in sections if each.startswith("Drift:"))
    assert names.STACK_LABEL in drift
    assert "somebody" in drift


def test_suspend_and_resume_change_the_jobset(team: Team) -> None:
    team.submit()
    team.submit("other")
    unknown = asked(team, "suspend", "tj", "nobody")
    assert (unknown.code, unknown.out) == (1, "")
    assert not team.world.there("JobSet", "tj")["spec"].get("suspend")
    for verb, word, value in (("suspend", "suspended", True), ("resume", "resumed", False)):
        done = asked(team, verb, "tj", "other")
        assert (done.code, done.out) == (0, f"tj {word}\nother {word}\n")
        assert team.world.there("JobSet", "tj")["spec"].get("suspend") is value


def test_what_is_in_a_queue_that_no_kueue_manages_is_described_and_resumed(team: Team) -> None:
    team.submit(metadata={"labels": {names.KUEUE_QUEUE_LABEL: "team"}}, spec={"suspend": True})
    described = asked(team, "describe", "tj").out
    assert "admission by Kueue to queue team, but this cluster has no Kueue" in described
    assert "Stuck:" in described
    done = asked(team, "resume", "tj")
    assert (done.code, done.out) == (0, "tj resumed\n")
    assert team.world.there("JobSet", "tj")["spec"]["suspend"] is False


def test_delete_leaves_nothing_and_says_whose_the_run_was(team: Team) -> None:
    team.submit()
    team.submit("other")
    done = asked(team, "delete", "tj", "other")
    assert (done.code, done.out) == (0, "tj deleted\nother deleted\n")
    assert done.err.splitlines()[0] == (
        "tj belongs to stack dev of project digits: its next refresh finds it gone"
    )
    assert team.world.all_names() == {}


def test_runs_are_deleted_by_stack_and_age_and_gc_leaves_a_stacks_runs_alone(team: Team) -> None:
    for name in ("ended", "begun"):
        team.submit(name)
    running(team)
    team.world.end("Completed", "ended")
    collected = asked(team, "gc", "--older-than", "0s", "--yes", "-n", team.world.namespace)
    assert collected.out.startswith(
        f"left alone: {team.world.namespace}/ended of stack digits/dev, whether its state has them"
    )
    none = asked(team, "delete", "--stack", "digits/prod", "--yes")
    assert (none.code, none.out) == (0, "")
    assert "on the cluster of context trainer-infra is all that the options ask for" in none.err
    chosen = ("delete", "--stack", "digits/dev", "--phase", "complete", "--phase", "created")
    done = asked(team, *chosen, "--yes")
    deleted = sorted(line for line in done.out.splitlines() if line.endswith(" deleted"))
    assert deleted == [f"{team.world.namespace}/{name} deleted" for name in ("begun", "ended")]
    assert "freed" not in done.out
    assert [row[1] for row in rows(asked(team, "get").out)[1:]] == ["tj"]


def test_delete_says_what_is_left_when_it_has_waited_enough(team: Team) -> None:
    team.submit()
    team.collector.end()  # so that pods which do not end hold the JobSet
    done = asked(team, "delete", "tj", "--timeout", "1")
    assert (done.code, done.out) == (0, "")
    left = done.err.splitlines()[-1]
    assert f"JobSet {team.world.namespace}/tj" in left
    assert "foregroundDeletion" in left


def test_a_log_that_is_followed_says_what_its_run_waits_for(team: Team) -> None:
    team.submit()
    following = team.command.start("logs", "-f", "tj", *CLUSTER)
    assert following.stderr is not None
    # No JobSet controller runs here, which is said after a while.
    assert following.stderr.readline().startswith(
        (
            "tj waits: pods of node are being made\n",
            "tj waits: JobSet's controller has done nothing",
        )
    )
    team.world.pod(node="n1", phase="Pending", containerStatuses=[container(MISSING_IMAGE)])
    line = following.stderr.readline()
    assert line.startswith("tj cannot start: ")
    assert "nowhere:1" in line
    assert asked(team, "delete", "tj").code == 0
    out, said = following.communicate(timeout=600)
    assert (following.returncode, out) == (1, "")
    assert said.splitlines()[-1] == ("run tj is gone: it was deleted while its log was waited for")


def test_a_log_that_is_followed_says_which_other_pod_cannot_start(team: Team) -> None:
    team.submit(spec={"trainer": {"numNodes": 2}})
    begun = {"phase": "Running", "startTime": "2026-11-21T12:00:00Z"}
    team.world.pod(node="n1", **begun, containerStatuses=[container(RUNNING)])
    other = "tj-node-0-1-fghij"
    team.world.pod(other, node="n1", phase="Pending", containerStatuses=[container(MISSING_IMAGE)])
    following = team.command.start("logs", "-f", "tj", *CLUSTER)
    assert following.stderr is not None
    line = following.stderr.readline()
    assert line.startswith(f"tj is stuck: pod {other}")
    assert "nowhere:1" in line
    assert interrupt(following).code == 130


def test_a_log_that_waits_ends_with_ctrl_c(team: Team) -> None:
    team.submit()
    following = team.command.start("logs", "-f", "tj", *CLUSTER)
    assert following.stderr is not None
    following.stderr.readline()
    done = interrupt(following)
    assert (done.code, done.out, done.err) == (130, "", "")


def test_the_end_of_a_run_whose_pods_are_gone_is_known(team: Team) -> None:
    running(team)
    status = {"phase": "Failed", "startTime": "2026-11-21T12:00:00Z"}
    failed = {**status, "containerStatuses": [container(ended(42))]}
    team.world.status("Pod", "tj-node-0-0-abcde", failed)
    team.world.end("Failed")
    assert rows(asked(team, "get", "tj").out)[1][2] == "Failed"
    ok(
        team.world.client.delete(
            f"{team.world.path('Pod', 'tj-node-0-0-abcde')}?gracePeriodSeconds=0"
        )
    )
    last = asked(team, "describe", "tj").out.split("\n\n")[-1].splitlines()
    assert last[:2] == ["Failure:", "  pod tj-node-0-0-abcde: Error, exit code 42"]
    assert asked(team, "suspend", "tj").err == "tj has ended as Failed and cannot be suspended\n"


def test_an_unknown_run_names_near_misses_and_other_namespaces(team: Team) -> None:
    team.submit("digits")
    taken = asked(team, "describe", "digit")
    assert taken.err.startswith("digit is taken for run digits of stack digits/dev (Created, ")
    assert taken.out.startswith("Name:         digits\n")
    said = asked(team, "delete", "digit")
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"there is no run 'digit' in namespace {team.world.namespace} on the cluster of context "
        "trainer-infra; did you mean digits?\n"
    )
    elsewhere = asked(team, "logs", "digits", "-n", "default").err
    assert elsewhere.endswith(f"{team.world.namespace} has one of that name\n")


def test_who_may_not_is_told_so(team: Team) -> None:
    team.submit()
    path = f"/api/v1/namespaces/{team.world.namespace}/serviceaccounts/default/token"
    asked_for = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = ok(team.world.client.create(path, asked_for))["status"]["token"]
    theirs = team.command.folder / "theirs"
    text = team.kubeconfig.read_text().replace(team.address.token, token)
    theirs.write_text(text)
    for arguments in (("get",), ("describe", "tj"), ("suspend", "tj"), ("delete", "tj")):
        done = team.command(*arguments, "--kubeconfig", str(theirs))
        assert (done.code, done.out) == (1, "")
        assert f"cannot {'list' if arguments == ('get',) else 'get'}" in done.err
        assert "Traceback" not in done.err
        assert token not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("get",),
        pytest.param(("logs", "-f", "tj"), marks=pytest.mark.soak),
        pytest.param(("delete", "tj"), marks=pytest.mark.soak),
    ],
)
def test_a_cluster_that_does_not_answer_is_named(team: Team, arguments: tuple[str, ...]) -> None:
    config = json.loads(team.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (team.command.folder / "closed").write_text(json.dumps(config))
    began = datetime.now(UTC)
    done = team.command(*arguments, "--kubeconfig", "closed")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("the API server https://127.0.0.1:1 cannot be reached to ")
    assert "Traceback" not in done.err
    assert datetime.now(UTC) - began < timedelta(seconds=80)
