"""A sweep in which members fail, and one of which only some run at once, by the real Pulumi CLI."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.deploy.project import Stack, interrupt, most_at_once, read_until
from tests.deploy.test_batch import HEAD, batch, uids

SWEEP = 'sweep = TrainJobs("sweep", {members}, wait_for="complete"{more})\n'
SOME = '{"good": job(text="one"), "bad": job(code=42), "fine": job(text="two")}'
EXPORTS = """
pulumi.export("accuracy", sweep.results.apply(
    lambda ended: {name: each["metrics"]["accuracy"] for name, each in ended.items()}
))
pulumi.export("failures", sweep.failures)
"""
FIVE = "{str(n): job(seconds=1.0, text=str(n)) for n in range(5)}"


def sweep(members: str, more: str = "") -> str:
    return HEAD + SWEEP.format(members=members, more=more) + EXPORTS


@pytest.mark.soak
def test_results_of_members_that_ended_are_kept_where_others_failed(stack: Stack) -> None:
    stack.program(sweep(SOME))

    shown = stack.up(ok=False)

    assert "1 of 3 TrainJobs failed" in shown
    assert re.search(
        r"2 ended well, tolerate_failures=1 goes on with them:\s+fine: .*0.97\s+good: .*0.97", shown
    )
    (gate,) = stack.resources("trainer:Results")
    assert gate["outputs"]["results"].keys() == {"good", "fine"}
    assert re.match(
        r"TrainJob sweep-bad-\w+ failed: .*pod .*42", gate["outputs"]["failures"]["bad"]
    )
    before = uids(stack)

    assert "1 of 3 TrainJobs failed" in stack.up(ok=False), "the next up looks again"
    assert uids(stack) == before

    stack.program(sweep(SOME.replace("42", "0")))
    stack.up()
    assert stack.outputs() == {
        "accuracy": dict.fromkeys(("good", "bad", "fine"), 0.97),
        "failures": {},
    }
    after = uids(stack)
    assert [name for name in before if before[name] != after[name]] == ["bad"]
    stack.unchanged()


def test_failed_members_are_named_in_order_and_one_command_runs_them_again(stack: Stack) -> None:
    names = ("c", "a", "b")
    stack.program(sweep(f"{{name: job(code=1) for name in {names}}}"))

    shown = stack.up(ok=False)

    runs = [each["name"] for _, each in sorted(batch(stack)["members"].items())]
    assert len(re.findall(r"a, b, c: TrainJob sweep-a-\w+ failed", shown)) == 1
    assert "b: TrainJob" not in shown.replace("a, b, c: TrainJob", "")
    (command,) = re.findall(r"run them again as they are: trainer-infra (.*)", shown)
    assert command.split() == ["retry", *runs]
    assert stack.trainer(*command.split()).count("runs again") == len(runs)


@pytest.mark.soak
def test_tolerated_failures_fail_nothing_and_are_outputs(stack: Stack) -> None:
    stack.program(sweep(SOME, ", tolerate_failures=1"))

    shown = stack.up()

    assert "1 of 3 TrainJobs failed or cannot go on, which is tolerated" in shown
    found = stack.outputs()
    assert found["accuracy"] == {"good": 0.97, "fine": 0.97}
    assert found["failures"].keys() == {"bad"}
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    assert stack.outputs() == found

    stack.program(sweep(SOME))
    assert "tolerateFailures" in stack.preview()
    assert "1 of 3 TrainJobs failed" in stack.up(ok=False)
    stack.program(sweep(SOME, ", tolerate_failures=2"))
    stack.up()
    assert stack.outputs() == found


@pytest.mark.soak
def test_a_member_that_could_not_be_submitted_may_be_tolerated(stack: Stack) -> None:
    colleague = replace(stack, name="colleague")
    colleague.run("stack", "init")
    colleague.run("config", "set", "trainer:target", "local")
    stack.program(
        'TrainJob("x", name="taken", runtime="jax-distributed", trainer=CustomTrainer(train))'
    )
    colleague.up()
    taken = '{"a": job(text="one"), "b": job({"name": "taken"}, text="two")}'
    stack.program(sweep(taken, ", tolerate_failures=1"))
    stack.up()
    assert stack.outputs()["accuracy"] == {"a": 0.97}
    assert "exists" in stack.outputs()["failures"]["b"]
    stack.run("refresh", "--yes")
    assert "exists" in stack.outputs()["failures"]["b"]


@pytest.mark.soak
def test_no_more_members_run_at_once_than_may(stack: Stack) -> None:
    stack.program(sweep(FIVE, ", max_parallel=2"))

    stack.up()

    assert stack.outputs()["accuracy"].keys() == set("01234")
    assert most_at_once((run["started"], run["finished"]) for run in stack.runs()) == 2
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()


@pytest.mark.soak
def test_interrupted_between_members_the_next_up_starts_those_that_are_left(
    cli_stack: Stack,
) -> None:
    cli_stack.program(sweep(FIVE, ", max_parallel=1"))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("1 of 5 complete", process)
        interrupt(process)
        said, _ = process.communicate(timeout=600)
    assert "the wait was interrupted; what runs on" in said
    assert "Suspended" in {run["phase"] for run in cli_stack.runs()}
    before = uids(cli_stack)

    shown = cli_stack.up()

    assert "pending" not in shown
    assert uids(cli_stack) == before
    assert {run["phase"] for run in cli_stack.runs()} == {"Complete"}


def test_a_gate_says_which_members_were_suspended_by_hand_and_how_they_go_on(
    cli_stack: Stack,
) -> None:
    cli_stack.program(
        sweep("{name: job(seconds=60.0) for name in ('a', 'b', 'c')}", ", max_parallel=2")
    )
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("0 of 3 complete, 2 running, 1 waiting for a turn", process)
        names = [run["name"] for run in cli_stack.runs() if run["phase"] == "Running"]
        cli_stack.trainer("suspend", names[0])
        read_until(f"1 suspended by hand; resume with `trainer-infra resume {names[0]}`", process)
        (third,) = {run["name"] for run in cli_stack.runs()} - set(names)
        read_until("2 running, 1 suspended by hand", process)
        cli_stack.trainer("suspend", names[1], third)
        every = " ".join(sorted([*names, third]))
        read_until(f"3 suspended by hand; resume with `trainer-infra resume {every}`", process)
        interrupt(process)
        process.communicate(timeout=600)


@pytest.mark.soak
def test_without_the_limit_the_next_up_starts_all_that_are_left(cli_stack: Stack) -> None:
    cli_stack.program(sweep(FIVE, ", max_parallel=1"))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("1 of 5 complete", process)
        interrupt(process)
        process.communicate(timeout=600)

    cli_stack.program(sweep(FIVE))
    cli_stack.up()

    assert {run["phase"] for run in cli_stack.runs()} == {"Complete"}


@pytest.mark.soak
def test_a_member_that_is_submitted_again_waits_its_turn(stack: Stack) -> None:
    stack.program(sweep(FIVE, ", max_parallel=1"))
    stack.up()
    gone = batch(stack)["members"]["3"]
    stack.trainer("delete", gone["name"])
    stack.run("refresh", "--yes")

    stack.up()

    after = uids(stack)
    assert after["3"] != gone["uid"]
    assert {run["phase"] for run in stack.runs()} == {"Complete"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (", max_parallel=0", "TrainJobs sweep: max_parallel: must be a whole number from 1, got 0"),
        (", max_parallel=1.5", "max_parallel: must be a whole number from 1, got 1.5"),
        (", tolerate_failures=-1", "tolerate_failures: must be a whole number from 0, got -1"),
        (", tolerate_failures='1'", "tolerate_failures: must be a whole number from 0, got '1'"),
    ],
)
def test_what_cannot_be_is_said_at_preview(stack: Stack, more: str, said: str) -> None:
    stack.program(sweep(SOME, more))
    assert said in stack.preview(ok=False)


def test_a_limit_without_a_deployment_that_waits_is_refused(stack: Stack) -> None:
    text: Any = HEAD + 'TrainJobs("sweep", {"a": job()}, max_parallel=2)'
    stack.program(text)
    assert "TrainJobs sweep: max_parallel needs the deployment" in stack.preview(ok=False)


RAISES = """
def raises(depth):
    raise ValueError(f"depth {depth} is too much")
"""


def test_what_failed_members_raised_is_in_failures_and_in_one_line_of_the_warning(
    stack: Stack,
) -> None:
    bad = '{{"runtime": "jax-distributed", "trainer": CustomTrainer(raises, func_args={{"depth": {}}})}}'
    members = (
        f'{{"a": {bad.format(5)}, "b": {bad.format(5)}, "c": {bad.format(7)}, "d": job(text="x")}}'
    )
    stack.program(RAISES + sweep(members, ", tolerate_failures=3"))

    shown = stack.up()

    said = stack.outputs()["failures"]
    assert said.keys() == {"a", "b", "c"}
    for name, depth in (("a", 5), ("b", 5), ("c", 7)):
        reason = rf"failed: ValueError: depth {depth} is too much; .* ended with exit code 1"
        assert re.fullmatch(rf"TrainJob sweep-{name}-\w+ {reason}", said[name])
    assert len(re.findall(r"a, b: TrainJob .*: ValueError: depth 5", shown)) == 1
    assert len(re.findall(r"c: TrainJob .*: ValueError: depth 7", shown)) == 1
    stack.unchanged()
    stack.run("refresh", "--yes")
    assert stack.outputs()["failures"] == said


def test_a_problem_that_members_share_is_said_once_with_their_names(stack: Stack) -> None:
    broken = '{"runtime": "nowhere", "trainer": CustomTrainer(train)}'
    stack.program(sweep(f'{{**{{str(n): {broken} for n in range(12)}}, "fine": job(text="x")}}'))
    shown = stack.preview(ok=False)
    assert len(re.findall(r"jobs\.0, 1, 10, 11, 2, 3, 4, 5, 6, 7 and 2 more: ", shown)) == 1
    assert not re.search(r"jobs\.1: ", shown)


def test_keep_complete_is_true_or_false(stack: Stack) -> None:
    stack.program(sweep(SOME, ', keep_complete="some"'))
    said = "TrainJobs sweep: keep_complete must be True or False, got 'some'"
    assert said in stack.preview(ok=False)


NEEDS = """
def needs(file):
    import os, sys
    from trainer_infra.report import report
    if not os.path.exists(file):
        sys.exit("there is no data")
    report(progress=100, accuracy=0.97)
"""


def test_after_a_retry_the_next_up_has_the_new_results(stack: Stack) -> None:
    mended = stack.folder / "mended"
    bad = f'{{"runtime": "jax-distributed", "trainer": CustomTrainer(needs, func_args={{"file": "{mended}"}})}}'
    members = f'{{"good": job(text="one"), "bad": {bad}}}'
    stack.program(NEEDS + sweep(members, ", tolerate_failures=1"))
    stack.up()
    assert stack.outputs()["failures"].keys() == {"bad"}
    stack.unchanged()
    mended.touch()
    bad = batch(stack)["members"]["bad"]["name"]
    assert "runs again" in stack.trainer("retry", bad)

    assert "run again since they had failed: bad" in stack.preview()
    stack.up()
    assert stack.outputs() == {"accuracy": {"good": 0.97, "bad": 0.97}, "failures": {}}
    stack.unchanged()


def test_the_preview_says_how_many_members_start_anew_and_which_are_complete(stack: Stack) -> None:
    members = (
        '{{"good": job(text="{0}"), "bad": job(code=42, text="{0}"), "same": job(text="same")}}'
    )
    stack.program(sweep(members.format("one"), ", tolerate_failures=1"))
    stack.up()
    stack.program(sweep(members.format("two"), ", tolerate_failures=1"))
    assert (
        "2 of 3 members start anew, and their runs are deleted; 1 of these are complete: good"
        in stack.preview()
    )


MENDABLE = """
def trained(depth, rate=0.1):
    from trainer_infra.report import report
    if depth == 5 and not {mended}:
        raise ValueError("depth 5")
    report(progress=100, accuracy={accuracy})
"""
KEPT = """
members = {{
    f"d{{depth}}": {{
        "runtime": "plain-distributed",
        "trainer": CustomTrainer(trained, func_args={{"depth": depth, **{more}}}),
        "attempt": {attempt},
    }}
    for depth in (3, 4, 5)
}}
sweep = TrainJobs("sweep", members, wait_for="complete", tolerate_failures=1{keeps})
"""


def mendable(
    mended: bool, accuracy: float, keeps: bool = True, attempt: int = 1, more: str = "{}"
) -> str:
    keep = ", keep_complete=True" if keeps else ""
    code = MENDABLE.format(mended=mended, accuracy=accuracy)
    return HEAD + code + KEPT.format(keeps=keep, attempt=attempt, more=more) + EXPORTS


def test_only_failed_members_run_on_mended_code_where_complete_ones_are_kept(stack: Stack) -> None:
    stack.program(mendable(mended=False, accuracy=0.5, keeps=False))
    stack.up()
    assert stack.outputs()["failures"].keys() == {"d5"}
    before = uids(stack)

    stack.program(mendable(mended=True, accuracy=0.9))
    shown = stack.preview()
    assert "1 of 3 members start anew, and their runs are deleted" in shown
    assert "2 of 3 members are complete and stay as they are, of other code: d3, d4" in shown
    assert "of these are complete" not in shown
    stack.up()
    after = uids(stack)
    assert [name for name in before if before[name] != after[name]] == ["d5"]
    assert stack.outputs() == {
        "accuracy": {"d3": 0.5, "d4": 0.5, "d5": 0.9},
        "failures": {},
    }
    assert {run["phase"] for run in stack.runs()} == {"Complete"}
    assert len(stack.runs()) == 3
    assert "members start anew" not in stack.preview()
    stack.run("refresh", "--yes", "--expect-no-changes")
    stack.up()
    assert uids(stack) == after

    # All are complete now: nothing runs, whatever becomes of the code.
    stack.program(mendable(mended=True, accuracy=0.1))
    assert "3 of 3 members are complete and stay as they are" in stack.up()
    assert uids(stack) == after


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"attempt": 2}, "3 of 3 members start anew"),
        ({"more": '{"rate": depth / 10}'}, "3 of 3 members start anew"),
        ({"more": '({"rate": 0.2} if depth == 3 else {})'}, "2 of 3 members start anew"),
        ({"keeps": False}, "3 of 3 members start anew"),
    ],
)
def test_what_is_no_code_runs_complete_members_anew(
    stack: Stack, changed: dict[str, Any], said: str
) -> None:
    stack.program(mendable(mended=False, accuracy=0.5))
    stack.up()
    stack.program(mendable(mended=True, accuracy=0.9, **changed))
    assert said in stack.preview()
