"""`suspend`, `resume` and `retry` of runs that options choose, and of runs that are as they shall be."""

import re

import pytest

from tests.cli import fleet
from tests.cli.command import Command
from tests.cli.fleet import owner

GOING = r"going is not suspended, it is (created|running)\n"
DEV, PROD = owner("sweep", "dev", "lr"), owner("sweep", "prod", "lr")


def suspended(cli: Command) -> set[str]:
    return {name for name, phase in cli.phases().items() if phase == "Suspended"}


def test_a_stacks_runs_are_suspended_and_resumed_without_their_names(cli: Command) -> None:
    fleet.running(cli, "one", DEV)
    fleet.running(cli, "two", DEV)
    fleet.running(cli, "other", PROD)
    fleet.ended(cli, "done", DEV)

    held = cli("suspend", "--stack", "sweep/dev")
    assert (held.code, held.out, held.err) == (0, "one suspended\ntwo suspended\n", "")
    assert suspended(cli) == {"one", "two"}
    again = cli("suspend", "--stack", "sweep/dev")
    assert (again.code, again.out, again.err) == (0, "", "none of the 3 chosen can be suspended\n")

    freed = cli("resume", "--phase", "suspended", "--stack", "dev", "-A")
    assert (freed.code, freed.out) == (0, "one resumed\ntwo resumed\n")
    assert suspended(cli) == set()


def test_a_run_that_is_as_it_shall_be_is_said_to_be_so(cli: Command) -> None:
    fleet.running(cli, "going")
    resumed = cli("resume", "going")
    assert resumed.code == 0
    assert re.fullmatch(GOING, resumed.out)
    assert cli("suspend", "going").out == "going suspended\n"
    assert cli("suspend", "going").out == "going is suspended already\n"
    assert cli("resume", "going").out == "going resumed\n"
    assert re.fullmatch(GOING, cli("resume", "going").out)


def test_what_failed_of_a_stack_runs_again(cli: Command) -> None:
    fleet.failed(cli, "bad", DEV)
    fleet.failed(cli, "worse", DEV)
    fleet.failed(cli, "theirs", PROD)
    fleet.ended(cli, "good", DEV)

    again = cli("retry", "--stack", "dev")
    assert again.code == 0
    assert [line.split()[0] for line in again.out.splitlines()] == ["bad", "worse"]
    none = cli("retry", "--phase", "complete")
    assert (none.code, none.out, none.err) == (0, "", "none of the 1 chosen has failed\n")


@pytest.mark.parametrize("verb", ["suspend", "resume", "retry"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give the names of runs, or options that choose them"),
        (["a", "--stack", "dev"], "such as --stack: not both"),
        (["a", "-A"], "for options that choose runs, not for names"),
    ],
)
def test_names_and_options_exclude_one_another(
    cli: Command, verb: str, arguments: list[str], told: str
) -> None:
    refused = cli(verb, *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err


@pytest.mark.parametrize("verb", ["suspend", "resume", "retry"])
def test_where_there_is_no_such_run_it_is_said_where_was_looked(cli: Command, verb: str) -> None:
    done = cli(verb, "--stack", "nowhere")
    said = "no runs in namespace default on this machine\n"
    assert (done.code, done.out, done.err) == (0, "", said)
