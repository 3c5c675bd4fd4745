"""Many TrainJobs as one resource, by the real Pulumi CLI on this machine."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.project import Stack, interrupt, read_until, until

HEAD = """
from trainer_infra import TrainJobs
def job(more=None, **args):
    return {"runtime": "jax-distributed", "trainer": CustomTrainer(train, func_args=args), **(more or {})}
"""
SWEEP = 'sweep = TrainJobs("sweep", {members}, wait_for={wait})\n'
PLAIN = '{"a": job(text="one"), "b": job(text="two")}'


def sweep(members: str, wait: str | None = None) -> str:
    return HEAD + SWEEP.format(members=members, wait=repr(wait))


def batch(stack: Stack) -> dict[str, Any]:
    """Outputs of the batch in the state."""
    (resource,) = stack.resources("trainer:TrainJobs")
    outputs: dict[str, Any] = resource["outputs"]
    return outputs


def uids(stack: Stack) -> dict[str, str]:
    return {name: each["uid"] for name, each in batch(stack)["members"].items()}


def test_every_member_runs_and_then_nothing_is_to_do(stack: Stack) -> None:
    read = 'pulumi.export("accuracy", sweep.results["b"]["metrics"]["accuracy"])\n'
    stack.program(sweep(PLAIN, "complete") + read)
    assert "JAX_COORDINATOR_ADDRESS" in stack.preview()

    shown = stack.up()

    assert "2 of 2 submitted" in shown
    assert stack.outputs() == {"accuracy": 0.97}
    assert sorted(uids(stack).values()) == sorted(run["uid"] for run in stack.runs())
    assert re.fullmatch(r"sweep-a-[0-9a-f]{8}", batch(stack)["members"]["a"]["name"])
    assert "one" in stack.trainer("logs", batch(stack)["members"]["a"]["name"])
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_members_are_added_changed_and_removed_and_the_others_are_left_alone(
    stack: Stack,
) -> None:
    stack.program(sweep('{"a": job(text="one"), "b": job(text="two"), "c": job(text="three")}'))
    stack.up()
    before = uids(stack)
    stack.program(sweep('{"a": job(text="one"), "b": job(text="changed"), "d": job(text="four")}'))

    shown = stack.preview()

    assert '~ text: "two" => "changed"' in shown
    assert "- c" in shown
    assert "+ d" in shown
    assert "one" not in shown, "an unchanged member is not shown"
    stack.up()
    after = uids(stack)
    assert after.keys() == {"a", "b", "d"}
    assert after["a"] == before["a"]
    assert after["b"] != before["b"]
    assert sorted(after.values()) == sorted(run["uid"] for run in stack.runs())


def test_members_that_no_run_may_be_named_after_keep_their_names_in_the_outputs(
    stack: Stack,
) -> None:
    keys = ("lr-0.1", "lr_0.1", "LR=0.1", "größe 7", "lr/0.1#x")
    read = "{each: one['metrics']['accuracy'] for each, one in all.items()}"
    export = f'pulumi.export("accuracy", sweep.results.apply(lambda all: {read}))\n'
    stack.program(sweep(f"dict.fromkeys({keys}, job())", "complete") + export)

    stack.up()

    assert stack.outputs() == {"accuracy": dict.fromkeys(keys, 0.97)}
    named = {key: each["name"] for key, each in batch(stack)["members"].items()}
    shown = {key: re.sub("-[0-9a-f]{8}$", "", name) for key, name in named.items()}
    assert shown == {
        **dict.fromkeys(keys[:3], "sweep-lr-0-1"),
        "größe 7": "sweep-gr-e-7",
        "lr/0.1#x": "sweep-lr-0-1-x",
    }
    assert sorted(named.values()) == sorted(run["name"] for run in stack.runs())
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    stack.program(sweep(f"dict.fromkeys({keys[1:3]}, job())", "complete"))
    stack.up()
    assert sorted(named[each] for each in keys[1:3]) == sorted(run["name"] for run in stack.runs())


def test_a_member_is_suspended_in_place(stack: Stack) -> None:
    text = '{{"a": job({{"suspend": {a}}}, seconds=60.0), "b": job({{"suspend": True}}, seconds=60.0)}}'
    stack.program(sweep(text.format(a=False)))
    stack.up()
    before = uids(stack)
    stack.program(sweep(text.format(a=True)))
    stack.up()
    assert uids(stack) == before
    until(lambda: {run["phase"] for run in stack.runs()} == {"Suspended"})


def test_a_member_that_cannot_be_submitted_fails_the_gate_and_alone_is_tried_again(
    stack: Stack, tmp_path: Path
) -> None:
    other = replace(stack, folder=tmp_path / "other")
    other.folder.mkdir()
    (other.folder / "Pulumi.yaml").write_text("name: other\nruntime: python\n")
    other.run("stack", "init")
    other.run("config", "set", "trainer:target", "local")
    other.program(
        'TrainJob("x", name="taken", runtime="jax-distributed", trainer=CustomTrainer(train))'
    )
    other.up()
    stack.program(
        sweep('{"a": job(text="one"), "b": job({"name": "taken"}, text="two")}', "complete")
    )

    shown = stack.up(ok=False)

    assert "1 of 2 TrainJobs failed; the next `pulumi up` tries these again" in shown
    assert re.search(
        r"1 of 2 TrainJobs failed or cannot go on\s+b: run default/taken exists", shown
    )
    assert "Traceback" not in shown
    first = batch(stack)["members"]
    assert first["b"].keys() == {"name", "namespace", "error"}
    other.run("destroy", "--yes")
    stack.up()
    assert uids(stack)["a"] == first["a"]["uid"]
    assert len(stack.runs()) == 2
    stack.unchanged()


def test_every_failed_member_is_named_with_its_reason(stack: Stack) -> None:
    members = '{"good": job(), "bad": job(code=42), "worse": job(code=43, text="last words")}'
    stack.program(sweep(members, "complete"))

    shown = stack.up(ok=False)

    assert "2 of 3 TrainJobs failed or cannot go on" in shown
    assert re.search(r"bad: TrainJob sweep-bad-\w+ failed: .*pod .*42", shown)
    assert re.search(r"worse: TrainJob sweep-worse-\w+ failed: .*pod .*43", shown)
    assert "last words" in shown
    assert "Traceback" not in shown


def test_bad_members_are_all_named_at_preview(stack: Stack) -> None:
    bad = '{"runtime": "jax-distributed", "trainer": {"imagee": "x"}}'
    members = f'{{"a": {bad}, "b": job(), "c": job({{"attempt": 0}}), "d": {bad}}}'
    stack.program(sweep(members))
    shown = stack.preview(ok=False)
    assert re.search(r"jobs\.a, d: .*spec\.trainer\.imagee", shown)
    assert "jobs.c: attempt: must be a whole number from 1" in shown
    assert "jobs.b" not in shown
    assert "Traceback" not in shown


def test_an_argument_that_no_member_has_is_named(stack: Stack) -> None:
    stack.program(sweep('{"a": job({"trainr": 1})}'))
    shown = stack.preview(ok=False)
    assert "TrainJobs sweep: a: 'trainr' is not an argument; did you mean trainer?" in shown
    assert "Traceback" not in shown


def test_killed_while_it_submits_the_next_up_finds_what_was_made(cli_stack: Stack) -> None:
    runs = Path(cli_stack.env["TRAINER_INFRA_HOME"]) / "runs" / "default"
    members = "{f'm{i}': job(seconds=30.0, text=str(i)) for i in range(8)}"
    cli_stack.program(sweep(members))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        until(lambda: len(list(runs.glob("*/run.json"))) >= 2)
        process.kill()
    cli_stack.run("cancel", "--yes")

    cli_stack.up()

    assert len(cli_stack.runs()) == 8
    assert sorted(uids(cli_stack).values()) == sorted(run["uid"] for run in cli_stack.runs())
    cli_stack.run("destroy", "--yes")
    assert cli_stack.runs() == []


@pytest.mark.soak
def test_killed_while_it_updates_the_next_up_converges(cli_stack: Stack) -> None:
    runs = Path(cli_stack.env["TRAINER_INFRA_HOME"]) / "runs" / "default"
    text = "{{f'm{{i}}': job(seconds=30.0, text=f'{word}-{{i}}') for i in range(6)}}"
    cli_stack.program(sweep(text.format(word="first")))
    cli_stack.up()
    old = set(uids(cli_stack).values())
    cli_stack.program(sweep(text.format(word="second")))
    before = {each.name for each in runs.iterdir()}
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        until(lambda: {each.name for each in runs.iterdir()} - before)
        process.kill()
    cli_stack.run("cancel", "--yes")

    cli_stack.up()

    assert sorted(uids(cli_stack).values()) == sorted(run["uid"] for run in cli_stack.runs())
    assert not old & set(uids(cli_stack).values())


@pytest.mark.soak
def test_interrupted_while_it_submits_the_rest_is_left_to_the_next_up(cli_stack: Stack) -> None:
    runs = Path(cli_stack.env["TRAINER_INFRA_HOME"]) / "runs" / "default"
    cli_stack.program(sweep("{f'm{i}': job(seconds=30.0, text=str(i)) for i in range(24)}"))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        until(lambda: len(list(runs.glob("*/run.json"))) >= 2)
        interrupt(process)
        shown, _ = process.communicate(timeout=600)
    assert "was interrupted before it was tried" in shown
    known = batch(cli_stack)["members"]
    made = {each["uid"] for each in known.values() if "uid" in each}
    assert made == {run["uid"] for run in cli_stack.runs()}
    assert len(made) < len(known) == 24
    cli_stack.up()
    assert made <= set(uids(cli_stack).values())
    assert len(cli_stack.runs()) == 24


def test_a_member_that_somebody_deleted_is_made_again_and_no_other(stack: Stack) -> None:
    stack.program(sweep(PLAIN, "complete"))
    stack.up()
    before = uids(stack)
    stack.trainer("delete", batch(stack)["members"]["a"]["name"])

    stack.run("refresh", "--yes")
    assert batch(stack)["members"].keys() == {"b"}
    stack.up()

    after = uids(stack)
    assert after["b"] == before["b"]
    assert after["a"] != before["a"]


def test_a_forced_replacement_keeps_every_run(stack: Stack) -> None:
    stack.program(sweep(PLAIN))
    stack.up()
    before = uids(stack)
    (resource,) = stack.resources("trainer:TrainJobs")
    shown = stack.up("--replace", resource["urn"])
    assert "raise attempt to run them again" in shown
    assert uids(stack) == before
    assert {run["uid"] for run in stack.runs()} == set(before.values())


def test_one_member_feeds_another_and_only_that_is_unknown_at_preview(stack: Stack) -> None:
    stack.program(
        HEAD
        + """
first = TrainJob("first", runtime="jax-distributed", trainer=CustomTrainer(train), wait_for="complete")
TrainJobs("sweep", {"fed": job(text=first.metrics["accuracy"]), "known": job(text="plain")},
          wait_for="complete")
"""
    )
    assert "sweep-known-" in stack.preview()
    stack.up()
    assert "rank 0 of 1 0.97" in stack.trainer("logs", batch(stack)["members"]["fed"]["name"])
    stack.unchanged()


SECRETS = """
sweep = TrainJobs("sweep", {{
    "a": {{"runtime": "jax-distributed",
           "trainer": CustomTrainer(train, func_args={{"text": "x"}}, env={{"TOKEN": Secret("{env}")}})}},
    "b": {{"runtime": "jax-distributed",
           "trainer": CustomTrainer(train, func_args={{"fed": pulumi.Config().require_secret("fed")}})}},
    "c": job(text="plain"),
}})
"""


def test_secrets_of_members_are_encrypted_in_the_state_and_their_change_starts_no_run(
    stack: Stack,
) -> None:
    stack.run("config", "set", "--secret", "fed", "planted-output-3d20")
    stack.program(HEAD + SECRETS.format(env="planted-env-1f9c"))
    seen = stack.preview() + stack.up() + stack.export()
    before = uids(stack)
    stack.unchanged()
    stack.program(HEAD + SECRETS.format(env="planted-changed-77ab"))
    seen += stack.preview() + stack.up() + stack.export()
    assert uids(stack) == before
    seen += stack.run("refresh", "--yes", "--diff") + stack.export()
    stack.unchanged()
    assert "planted" not in seen


@pytest.mark.soak
def test_an_interrupt_ends_the_gate_and_the_next_up_waits_again(cli_stack: Stack) -> None:
    cli_stack.program(
        sweep("{'a': job(seconds=10.0), 'b': job(seconds=10.0, text='b')}", "complete")
    )
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("2 running", process)
        interrupt(process)
        said, _ = process.communicate(timeout=600)
    assert "the wait was interrupted; what runs on" in said
    before = {run["uid"] for run in cli_stack.runs()}
    cli_stack.up()
    assert {(run["uid"], run["phase"]) for run in cli_stack.runs()} == {
        (uid, "Complete") for uid in before
    }
