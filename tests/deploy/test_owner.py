"""Whose a run is: stacks that take one over, stacks of two backends, and stacks that are renamed."""

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.deploy.project import Stack, until

HELD = """
TrainJob("job", runtime="jax-distributed", name="moved", suspend=True, trainer=CustomTrainer(train),
         {more})
"""
"""A run that waits: nothing has to be ended, so a destroy is quick."""

MEMBERS = """
from trainer_infra import TrainJobs

def member(name, **more):
    return {{"runtime": "jax-distributed", "name": name, "suspend": True,
            "trainer": CustomTrainer(train)}} | more

TrainJobs("batch", {{"a": member("a"), "b": member("b"{b})}}, {more})
"""


class Colleague:
    """Stacks of the same project and the same state folder of runs, in backends of their own."""

    def __init__(self, stack: Stack, tmp_path: Path) -> None:
        self._stack, self._folder = stack, tmp_path

    def __call__(self, name: str, project: str = "project") -> Stack:
        """A stack `test` of a project in a new backend."""
        folder, backend = self._folder / name, self._folder / f"backend-{name}"
        folder.mkdir()
        backend.mkdir()
        (folder / "Pulumi.yaml").write_text(f"name: {project}\nruntime: python\n")
        env = {**self._stack.env, "PULUMI_BACKEND_URL": f"file://{backend}"}
        made = replace(self._stack, folder=folder, env=env)
        made.run("stack", "init")
        made.run("config", "set", "trainer:target", "local")
        return made


@pytest.fixture
def colleague(stack: Stack, tmp_path: Path) -> Colleague:
    return Colleague(stack, tmp_path)


def held(more: str = "") -> str:
    return HELD.format(more=more)


def uids(stack: Stack) -> dict[str, str]:
    return {each["name"]: each["uid"] for each in stack.runs()}


def owner_of(stack: Stack, name: str) -> Any:
    (found,) = [each["owner"] for each in stack.runs() if each["name"] == name]
    return found


def test_a_run_that_was_adopted_is_left_alone_by_the_destroy_of_its_former_stack(
    stack: Stack, colleague: Colleague
) -> None:
    stack.program(held())
    stack.up()
    before = uids(stack)
    other = colleague("other", "taking")
    other.program(held("adopt=True"))
    other.up()
    theirs = other.job()["owner"]
    whose = f"{theirs['urn']} of stack test of project taking in backend {theirs['backend']} now"

    stack.program(held('labels={"a": "b"}'))
    assert f"run default/moved belongs to {whose}, so nothing of it is changed" in stack.up(
        ok=False
    )
    gone = stack.run("destroy", "--yes")
    assert f"run default/moved is left alone: it belongs to {whose}" in gone
    assert uids(other) == before
    other.unchanged()
    other.run("refresh", "--yes", "--expect-no-changes")
    other.run("destroy", "--yes")
    assert uids(other) == {}


def test_a_refresh_drops_a_run_that_was_adopted_with_its_gate_and_says_whose_it_is(
    stack: Stack, colleague: Colleague
) -> None:
    stack.program(
        'TrainJob("job", runtime="jax-distributed", name="moved", trainer=CustomTrainer'
        '(train, func_args={"seconds": 600}), wait_for="running")\n'
    )
    stack.up()
    other = colleague("other", "taking")
    other.program(
        'TrainJob("job", runtime="jax-distributed", name="moved", adopt=True, trainer='
        'CustomTrainer(train, func_args={"seconds": 600}))\n'
    )
    other.up()
    said = stack.run("refresh", "--yes")
    assert "run default/moved belongs to urn:pulumi:test::taking::" in said
    assert "adopt=True after that takes it back" in said
    assert stack.resources("trainer:TrainJob") == stack.resources("trainer:TrainJobResult") == []
    assert "belongs to urn:pulumi:test::taking::" in stack.up(ok=False)
    stack.run("destroy", "--yes")
    until(lambda: [each["phase"] for each in other.runs()] == ["Running"])
    other.run("destroy", "--yes")


def test_a_new_gate_on_a_run_that_was_adopted_fails_at_once(
    stack: Stack, colleague: Colleague
) -> None:
    stack.program(held())
    stack.up()
    other = colleague("other", "taking")
    other.program(held("adopt=True"))
    other.up()
    stack.program(
        "from trainer_infra import TrainJobResult\njob = " + held().strip() + "\n"
        'TrainJobResult("gate", job)\n'
    )
    said = stack.up(ok=False)
    assert "run default/moved belongs to urn:pulumi:test::taking::" in said
    assert "run `pulumi refresh`" in said


@pytest.mark.soak
def test_two_backends_with_equal_stacks_share_nothing(cli_stack: Stack, tmp_path: Path) -> None:
    colleague = Colleague(cli_stack, tmp_path)
    other = colleague("other")
    for first, second in ((cli_stack, other), (other, cli_stack)):
        for each in (first, second):
            each.program(held())
        first.up()
        kept = uids(first)
        refused = second.up(ok=False)
        assert f"in backend {first.job()['owner']['backend']}; choose another name" in refused
        second.run("destroy", "--yes")
        listed = second.trainer("gc", "--stack", "test", "--yes")
        assert (
            "runs of stack test of project project on this machine that are left alone:" in listed
        )
        assert f"made in backend {first.job()['owner']['backend']}, this is file:" in listed
        assert uids(first) == kept
        first.run("refresh", "--yes", "--expect-no-changes")
        first.run("destroy", "--yes")
        assert uids(first) == {}


def test_members_of_a_batch_that_were_adopted_are_theirs(
    stack: Stack, colleague: Colleague
) -> None:
    stack.program(MEMBERS.format(b="", more=""))
    stack.up()
    before = uids(stack)
    other = colleague("other", "taking")
    other.program(held("adopt=True").replace('"moved"', '"a"'))
    other.up()
    assert uids(stack) == before

    stack.program(MEMBERS.format(b=', labels={"x": "y"}', more=""))
    stack.up()  # member a did not change, so nobody asks about it
    stack.program(
        MEMBERS.format(b="", more="").replace('member("a")', 'member("a", labels={"x": "y"})')
    )
    assert "a: run default/a belongs to urn:pulumi:test::taking::" in stack.up()
    said = stack.run("destroy", "--yes")
    assert "run default/a is left alone: it belongs to urn:pulumi:test::taking::" in said
    assert uids(other) == {"a": before["a"]}
    other.run("destroy", "--yes")


def test_a_refresh_of_a_batch_drops_members_that_were_adopted(
    stack: Stack, colleague: Colleague
) -> None:
    stack.program(MEMBERS.format(b="", more=""))
    stack.up()
    other = colleague("other", "taking")
    other.program(held("adopt=True").replace('"moved"', '"a"'))
    other.up()
    said = stack.run("refresh", "--yes")
    assert "a: run default/a belongs to urn:pulumi:test::taking::" in said
    (batch,) = stack.resources("trainer:TrainJobs")
    assert list(batch["outputs"]["members"]) == ["b"]


@pytest.mark.soak
def test_a_stack_that_is_renamed_keeps_its_runs(cli_stack: Stack) -> None:
    cli_stack.program(held() + dedent(MEMBERS.format(b="", more="")))
    cli_stack.up()
    before = uids(cli_stack)
    cli_stack.run("stack", "rename", "renamed")
    renamed = Stack(cli_stack.folder, cli_stack.env, "renamed")
    renamed.run("refresh", "--yes", "--expect-no-changes")
    renamed.unchanged()
    assert owner_of(renamed, "moved")["stack"] == "test"

    # An update in place makes the run the stack's under its new name, and no other one.
    changed = held('labels={"x": "y"}') + dedent(MEMBERS.format(b=', labels={"x": "y"}', more=""))
    renamed.program(changed)
    renamed.up()
    assert uids(renamed) == before
    stacks = {each["name"]: each["owner"]["stack"] for each in renamed.runs()}
    assert stacks == {"moved": "renamed", "a": "test", "b": "renamed"}
    renamed.run("refresh", "--yes", "--expect-no-changes")
    renamed.unchanged()
    renamed.run("destroy", "--yes")
    assert uids(renamed) == {}


def test_a_resource_that_moves_into_a_component_keeps_its_run(stack: Stack) -> None:
    stack.program(held())
    stack.up()
    before = uids(stack)
    component = """
        class Team(pulumi.ComponentResource):
            def __init__(self):
                super().__init__("acme:team:Team", "team")
                {job}

        Team()
        """
    inside = "opts=pulumi.ResourceOptions(parent=self, aliases=[pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)])"
    stack.program(dedent(component).format(job=" ".join(held(inside).split())))
    stack.up()
    stack.run("refresh", "--yes", "--expect-no-changes")
    assert uids(stack) == before
    stack.program(
        dedent(component).format(job=" ".join(held(f'labels={{"x": "y"}}, {inside}').split()))
    )
    stack.up()
    assert uids(stack) == before
    assert "acme:team:Team$" in owner_of(stack, "moved")["urn"]
    stack.run("destroy", "--yes")
    assert uids(stack) == {}


@pytest.mark.parametrize("changed", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_state_that_is_imported_into_another_backend_has_its_runs_there(
    stack: Stack, colleague: Colleague, changed: bool
) -> None:
    stack.program(held() + dedent(MEMBERS.format(b="", more="")))
    stack.up()
    before = uids(stack)
    exported = stack.folder / "state.json"
    exported.write_text(stack.export())
    other = colleague("other")
    other.program(held() + dedent(MEMBERS.format(b="", more="")))
    other.run("stack", "import", "--file", str(exported))
    other.unchanged()
    other.run("refresh", "--yes", "--expect-no-changes")
    if changed:
        more = 'labels={"x": "y"}'
        other.program(held(more) + dedent(MEMBERS.format(b=f", {more}", more="")))
        other.up()
        assert uids(other) == before
        other.unchanged()
        # What it was imported from is the former owner now.
        said = stack.run("destroy", "--yes")
        assert "run default/moved is left alone" in said
        assert sorted(uids(other)) == ["b", "moved"]
    other.run("destroy", "--yes")
    assert uids(other) == {}


@pytest.mark.soak
def test_a_state_of_an_earlier_release_shows_no_change_and_can_be_destroyed(
    cli_stack: Stack, tmp_path: Path
) -> None:
    cli_stack.program(held() + dedent(MEMBERS.format(b="", more="")))
    cli_stack.up()
    state = json.loads(cli_stack.export())
    earlier = cli_stack.folder / "state.json"
    earlier.write_text(json.dumps(_without_backend(state)))
    cli_stack.run("stack", "import", "--file", str(earlier))
    for file in (tmp_path / "home").rglob("run.json"):
        file.write_text(json.dumps(_without_backend(json.loads(file.read_text()))))
    before = uids(cli_stack)
    cli_stack.unchanged()
    cli_stack.run("refresh", "--yes", "--expect-no-changes")
    cli_stack.up()
    assert uids(cli_stack) == before
    assert owner_of(cli_stack, "moved")["backend"] == ""
    listed = cli_stack.trainer("gc", "--stack", "test", "--yes")
    assert (
        listed == "no run of stack test of project project is without a resource on this machine\n"
    )
    cli_stack.program(held('labels={"x": "y"}') + dedent(MEMBERS.format(b="", more="")))
    cli_stack.up()
    assert owner_of(cli_stack, "moved")["backend"] == cli_stack.job()["owner"]["backend"] != ""
    cli_stack.run("destroy", "--yes")
    assert uids(cli_stack) == {}


def _without_backend(value: Any) -> Any:
    """The JSON value as a release wrote it that knew no backends."""
    if isinstance(value, dict):
        return {key: _without_backend(each) for key, each in value.items() if key != "backend"}
    return [_without_backend(each) for each in value] if isinstance(value, list) else value


@pytest.mark.soak
def test_gc_leaves_alone_what_another_stack_of_the_backend_has_by_now(cli_stack: Stack) -> None:
    cli_stack.program(held())
    cli_stack.up()
    before = uids(cli_stack)
    cli_stack.run("stack", "rename", "renamed")
    again = Stack(cli_stack.folder, cli_stack.env)
    again.run("stack", "init")
    again.run("config", "set", "trainer:target", "local")
    said = again.trainer("gc", "--stack", "test", "--yes")
    assert "default/moved (Suspended, in the state of stack renamed)" in said
    assert uids(cli_stack) == before


def test_the_folder_of_a_run_that_is_damaged_stops_nobody(stack: Stack, tmp_path: Path) -> None:
    stack.program(held() + dedent(MEMBERS.format(b="", more="")))
    stack.up()
    until(lambda: {each["phase"] for each in stack.runs()} == {"Suspended"})
    for name in ("moved", "a"):
        (tmp_path / "home/runs/default" / name / "status.json").write_text("{broken")
    said = stack.trainer("get", "-A")
    assert said.count("warning: the folder ") == 2
    assert " b " in said
    named = stack.trainer("get", "moved", ok=False)
    assert "should be a run's and cannot be read" in named
    assert "Traceback" not in named
    refreshed = stack.run("refresh", "--yes")
    assert "moved stays as it was last seen: the folder " in refreshed
    assert "a: stays as it was last seen: the folder " in refreshed
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert list((tmp_path / "home/runs/default").iterdir()) == []
