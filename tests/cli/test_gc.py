"""`trainer-infra gc` with the real Pulumi CLI: what no state owns goes, what one owns stays."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Team
from tests.deploy.project import Stack, until
from trainer_infra.deploy import backend
from trainer_infra.runs.run import Owner, RunKey

PROGRAM = """
import pulumi
from trainer_infra import CustomTrainer, TrainJob

def train(pause=0):
    import time
    time.sleep(pause)

for name in ("kept", "lost"):
    TrainJob(
        name,
        runtime="jax-distributed",
        name=name,
        trainer=CustomTrainer(train, func_args={"pause": 600}),
    )
"""


def test_gc_deletes_the_runs_that_no_state_owns(stack: Stack) -> None:
    (stack.folder / "__main__.py").write_text(PROGRAM)
    stack.up()
    # As `get` shows it too.
    for name in ("test", "project/test", "organization/test", "organization/project/test"):
        assert stack.trainer("gc", "--stack", name) == (
            f"no run of stack {name.removeprefix('project/')} of project project is without a resource "
            "on this machine\n"
        )

    until(lambda: {run["phase"] for run in stack.runs()} == {"Running"})
    # What a killed create leaves: a run, and a state that does not know it.
    (lost,) = [
        each["urn"]
        for each in stack.resources("trainer:TrainJob")
        if each["urn"].endswith("::lost")
    ]
    stack.run("state", "delete", lost, "--yes")

    said = stack.trainer("gc", "--stack", "test", "--yes").splitlines()
    assert said[0] == (
        "runs of stack test of project project on this machine that its state does not know:"
    )
    assert said[1].startswith("  default/lost (Running, ")
    assert said[2] == "default/lost deleted"
    assert re.fullmatch(r"[\d.]+ kB freed", said[3])
    assert {each["name"]: each["phase"] for each in stack.runs()} == {"kept": "Running"}


def test_gc_outside_a_pulumi_program_says_so(stack: Stack, tmp_path: Path) -> None:
    elsewhere = Stack(tmp_path, stack.env)
    assert elsewhere.trainer("gc", "--stack", "test", ok=False) == (
        f"{tmp_path} is in no Pulumi program: no Pulumi.yaml here or above; run gc in the "
        "program's folder\n"
    )


def test_gc_without_the_pulumi_command_says_so(stack: Stack) -> None:
    without = Stack(stack.folder, {**stack.env, "PATH": "/nowhere"})
    assert without.trainer("gc", "--stack", "test", ok=False) == (
        "reading the state of stack test needs the `pulumi` command, which is not on PATH: "
        "activate the virtual environment of `make setup`, or install Pulumi\n"
    )


def test_gc_of_an_unknown_stack_names_it(stack: Stack) -> None:
    said = stack.trainer("gc", "--stack", "tset", ok=False)
    assert said.startswith("the state of stack tset cannot be read: ")
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["other/test", "organization/other/test"])
def test_gc_of_another_projects_stack_says_where_to_run_it(name: str, stack: Stack) -> None:
    assert stack.trainer("gc", "--stack", name, ok=False) == (
        f"stack {name} belongs to project other, and the program here is project project; run gc in the "
        "folder of its own program\n"
    )


URN = "urn:pulumi:test::project::"
PROVIDER = {
    "urn": f"{URN}pulumi:providers:pulumi-python::default",
    "type": "pulumi:providers:pulumi-python",
    "custom": True,
    "id": "1b2d3c4e-0000-4000-8000-000000000000",
}


def resource(kind: str, name: str, outputs: dict[str, Any]) -> dict[str, Any]:
    """A resource of ours as a state has it."""
    return {
        "urn": f"{URN}pulumi-python:trainer:{kind}::{name}",
        "type": f"pulumi-python:trainer:{kind}",
        "custom": True,
        "id": name,
        "provider": f"{PROVIDER['urn']}::{PROVIDER['id']}",
        "outputs": outputs,
    }


@pytest.fixture
def there(stack: Stack, team: Team) -> Iterator[Stack]:
    """A stack on the API server with runs: one of a resource, one of a batch, three of none."""
    (stack.folder / "__main__.py").write_text("")
    for key, value in {
        "target": "kubernetes",
        "engine": "provider",
        "kubeconfig": str(team.kubeconfig),
    }.items():
        stack.run("config", "set", f"trainer:{key}", value)
    stack.up()  # so that there is a state, and an id of its backend
    here = _backend(stack)
    for name in ("kept", "member", "lost", "begun", "joining"):
        in_batch = name in {"member", "joining"}
        kind = f"TrainJobs::batch#{name}" if in_batch else f"TrainJob::{name}"
        urn = f"{URN}pulumi-python:trainer:{kind}"
        team.submit(name, owner=Owner("project", "test", urn, here))
    team.submit("foreign", owner=Owner("project", "prod", "", here))
    found = {each.name: each.uid for each in team.cluster.list_runs(team.world.namespace).runs}
    _written(stack, found)
    yield stack
    for name, uid in found.items():
        team.cluster.delete(RunKey(team.world.namespace, name, uid))


def _backend(stack: Stack) -> str:
    """The identity of the stack's backend."""
    return backend.backend_identity(stack.env, {}, "organization", (stack.folder,))


def _written(stack: Stack, uids: Mapping[str, str]) -> None:
    """A state that owns two of the runs and whose `up` was killed while it made more."""
    (file,) = (stack.folder.parent / "backend").rglob("stacks/project/test.json")
    state = json.loads(file.read_text())
    state["checkpoint"]["latest"]["resources"] += [
        PROVIDER,
        resource("TrainJob", "kept", {"uid": uids["kept"]}),
        resource("TrainJobs", "batch", {"members": {"member": {"uid": uids["member"]}}}),
    ]
    state["checkpoint"]["latest"]["pending_operations"] = [
        {"resource": resource("TrainJob", "begun", {}), "type": "creating"},
        {"resource": resource("TrainJobs", "batch", {}), "type": "updating"},
    ]
    file.write_text(json.dumps(state))


@pytest.mark.soak
def test_gc_on_a_cluster_knows_single_runs_and_members_of_a_batch(there: Stack, team: Team) -> None:
    said = there.trainer("gc", "--stack", "test", "--yes").splitlines()
    here = team.world.namespace
    whose = "runs of stack test of project project on the cluster of context trainer-infra"
    assert said[0] == f"{whose} that its state does not know:"
    listed = [
        (each.split()[0], each.endswith(", its create did not end yet)")) for each in said[1:4]
    ]
    assert listed == [
        (f"{here}/begun", True),
        (f"{here}/joining", True),
        (f"{here}/lost", False),
    ]
    assert said[4:] == [f"{here}/{name} deleted" for name in ("begun", "joining", "lost")]
    left = [each.name for each in team.cluster.list_runs(here).runs]
    assert left == ["foreign", "kept", "member"]


@pytest.mark.soak
def test_gc_asks_first_and_looks_into_one_namespace_when_told(there: Stack, team: Team) -> None:
    nothing = there.trainer("gc", "--stack", "test", "-n", "default")
    assert nothing.endswith("is without a resource on the cluster of context trainer-infra\n")
    asked = there.trainer("gc", "--stack", "test", ok=False)  # nobody answers
    assert "Delete 3? [y/N]: " in asked
    assert len(team.cluster.list_runs(team.world.namespace).runs) == 6


def test_gc_leaves_alone_what_other_backends_and_earlier_releases_made(
    there: Stack, team: Team
) -> None:
    urn = f"{URN}pulumi-python:trainer:TrainJob::job"
    team.submit("theirs", owner=Owner("project", "test", urn, "s3://states"))
    team.submit("earlier", owner=Owner("project", "test", urn))
    said = there.trainer("gc", "--stack", "test", "--yes").splitlines()
    here = team.world.namespace
    whose = "runs of stack test of project project on the cluster of context trainer-infra"
    assert said[:3] == [
        f"{whose} that are left alone:",
        (
            f"  {here}/earlier (Created, made by an earlier release, which did not keep in which "
            f"backend: `trainer-infra delete earlier -n {here}` removes it)"
        ),
        f"  {here}/theirs (Created, made in backend s3://states, this is {_backend(there)})",
    ]
    assert said[3] == f"{whose} that its state does not know:"
    left = [each.name for each in team.cluster.list_runs(here).runs]
    assert left == ["earlier", "foreign", "kept", "member", "theirs"]
