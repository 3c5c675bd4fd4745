"""Which runs `get` lists and `delete` removes: by project, stack, phase and age."""

import json
from pathlib import Path

import pytest

from tests.cli import fleet
from tests.cli.command import Command, command_in
from tests.cli.fleet import owner

DEV, PROD = owner("cancer", "dev", "cancer"), owner("cancer", "prod", "cancer")
OTHER = owner("digits", "dev", "digits")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Runs that have ended, whose names are not in the order of their age."""
    command = command_in(tmp_path_factory.mktemp("selection"))
    fleet.ended(command, "zebra", DEV, days=9)
    fleet.ended(command, "yak", PROD, days=3)
    fleet.failed(command, "ape", OTHER)
    fleet.ended(command, "xerus", days=6)
    return command


def listed(command: Command, *arguments: str) -> list[str]:
    found = json.loads(command("get", *arguments, "-o", "json").out)["items"]
    return [each["name"] for each in found]


def test_the_newest_is_last_and_a_stack_is_shown_with_its_project(several: Command) -> None:
    head, *rows = [line.split() for line in several("get").out.splitlines()]
    assert head == ["NAMESPACE", "NAME", "PHASE", "PROGRESS", "READY", "AGE", "STACK"]
    shown = [(row[1], row[5], row[6]) for row in rows]
    assert shown[:3] == [
        ("zebra", "9d", "cancer/dev"),
        ("xerus", "6d", "-"),
        ("yak", "3d", "cancer/prod"),
    ]
    assert (shown[3][0], shown[3][2]) == ("ape", "digits/dev")
    assert listed(several) == ["zebra", "xerus", "yak", "ape"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--project", "cancer"], ["zebra", "yak"]),
        (["--stack", "dev"], ["zebra", "ape"]),
        (["--stack", "cancer/dev"], ["zebra"]),
        (["--stack", "organization/cancer/dev"], ["zebra"]),
        (["--stack", "cancer/dev", "--project", "digits"], []),
        (["--phase", "failed"], ["ape"]),
        (["--phase", "Failed", "--phase", "Complete", "--stack", "dev"], ["zebra", "ape"]),
        (["--older-than", "5d"], ["zebra", "xerus"]),
        (["--newer-than", "1w", "--older-than", "48h"], ["xerus", "yak"]),
        (["-A", "--newer-than", "1.5d"], ["ape"]),
    ],
)
def test_get_lists_what_fits_all_options(
    several: Command, arguments: list[str], expected: list[str]
) -> None:
    assert listed(several, *arguments) == expected


def test_a_list_without_any_says_where_it_looked(several: Command) -> None:
    done = several("get", "--stack", "nowhere")
    said = "no run in namespace default on this machine is all that the options ask for; its runs belong to "
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(said)
    assert "cancer/dev" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["get", "--older-than", "7"], "wants a number with s, m, h, d or w, such as 7d, got '7'"),
        (["get", "ape", "--stack", "dev"], "options that choose runs are for a list"),
        (["delete"], "give the names of runs, or options that choose them"),
        (["delete", "ape", "--stack", "dev"], "such as --stack: not both"),
        (["delete", "ape", "-A"], "not for names"),
        (["gc"], "say what to delete: --stack NAME"),
        (["gc", "--cache", "--stack", "dev"], "--cache is about this machine"),
    ],
)
def test_options_that_do_not_fit_end_with_2(
    several: Command, arguments: list[str], told: str
) -> None:
    done = several(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_delete_of_a_selection_lists_and_asks(tmp_path: Path) -> None:
    command = command_in(tmp_path)
    fleet.ended(command, "old", DEV, days=9)
    fleet.ended(command, "new", DEV)
    fleet.ended(command, "others", OTHER, days=9)
    chosen = ("delete", "--stack", "cancer/dev", "--older-than", "7d")

    asked = command(*chosen, stdin="n\n")
    assert asked.code == 0
    assert [line.split()[1] for line in asked.out.splitlines()[:2]] == ["NAME", "old"]
    assert "Delete 1? [y/N]: nothing is deleted" in asked.out
    assert asked.err == "runs of stack cancer/dev: the next refresh finds them gone\n"
    assert len(command.runs()) == 3

    done = command(*chosen, "--yes")
    assert done.out.splitlines()[-2] == "default/old deleted"
    assert done.out.splitlines()[-1].endswith(" kB freed")
    assert sorted(command.phases()) == ["new", "others"]
    again = command(*chosen, "--yes")
    assert (again.code, again.out) == (0, "")
    assert "on this machine is all that the options ask for; its runs belong to " in again.err
