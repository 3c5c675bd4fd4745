"""Tables in a terminal and in a pipe: colours, widths, a line for each row."""

import re
from collections.abc import Mapping

import pytest

from tests import terminal
from tests.cli import fleet
from tests.cli.command import PROGRAM, Command, command_in
from tests.cli.fleet import owner
from trainer_infra import catalog, names
from trainer_infra.cli import options, screen, table
from trainer_infra.cli.screen import Screen
from trainer_infra.cli.table import Column
from trainer_infra.rules import RULES
from trainer_infra.runs import run as lifecycle

ESCAPE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = command_in(tmp_path_factory.mktemp("tables"))
    fleet.ended(command, "good", owner("project-with-a-name", "production", "good"))
    fleet.failed(command, "bad")
    for name in ("good", "bad"):
        fleet.age(command, name, days=3)  # so that no cell changes while a test looks
    return command


def shown(
    command: Command, columns: int, *arguments: str, more: Mapping[str, str] | None = None
) -> list[str]:
    """The lines of a command in a terminal of that width."""
    own = {
        key: each for key, each in command.env.items() if key not in {"NO_COLOR", "COLUMNS", "TERM"}
    }
    given = [PROGRAM, *arguments]
    _, text = terminal.drawn(given, command.folder, {**own, **(more or {})}, columns)
    return text.splitlines()


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("arguments", [("catalog",), ("rules", "list"), ("get",)])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(
    several: Command, columns: int, arguments: tuple[str, ...]
) -> None:
    lines = [ESCAPE.sub("", line) for line in shown(several, columns, *arguments)]
    assert max(map(len, lines)) <= columns
    piped = several(*arguments).out
    words = set(re.split(r"[\s,]+", piped)) - {"IMAGE", "KINDS", "TAGS", "STACK", "-", ""}
    assert words - set(re.split(r"[\s,]+", "\n".join(lines))) == set()


@pytest.mark.parametrize(
    ("arguments", "rows"), [(("catalog",), catalog.RUNTIMES), (("rules", "list"), RULES)]
)
def test_in_a_pipe_a_row_is_one_line_whatever_columns_says(
    several: Command, arguments: tuple[str, ...], rows: tuple[object, ...]
) -> None:
    narrow = Command(several.folder, {**several.env, "COLUMNS": "40", "TERM": "xterm"})
    del narrow.env["NO_COLOR"]  # type: ignore[attr-defined]  # a dict of its own
    done = narrow(*arguments)
    assert len(done.out.splitlines()) == len(rows) + 1
    assert "\x1b" not in done.out


def test_names_stay_whole_on_eighty_columns(several: Command) -> None:
    lines = [ESCAPE.sub("", line) for line in shown(several, 80, "catalog")]
    assert lines[0].split() == ["NAME", "FRAMEWORK", "FOR"]
    begins = [line.split()[0] for line in lines if line[:1].strip()]
    assert begins == ["NAME", *(each.name for each in catalog.RUNTIMES)]
    assert "    image: nvcr.io/nvidia/jax:25.10-py3" in lines


def test_phases_have_colours_in_a_terminal(several: Command) -> None:
    for arguments in (("get",), ("get", "bad"), ("describe", "bad")):
        text = "\n".join(shown(several, 120, *arguments))
        assert "\x1b[1;31mFailed\x1b[0m" in text, arguments
    assert "\x1b[32mComplete\x1b[0m" in "\n".join(shown(several, 120, "get"))
    assert "\x1b[1;31mhigh\x1b[0m" in "\n".join(shown(several, 120, "rules", "list"))


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_the_width_still_counts(several: Command, more: Mapping[str, str]) -> None:
    lines = shown(several, 80, "catalog", more=more)
    assert "\x1b" not in "".join(lines)
    assert max(map(len, lines)) <= 80


def test_a_message_of_several_lines_is_one_cell_in_a_pipe() -> None:
    columns = (Column("TYPE"), Column("MESSAGE", folds=True))
    rows = [("Failed", "one\ntwo " + "word " * 20)]
    assert len(list(table.table_lines(columns, rows))) == 2
    folded = list(table.table_lines(columns, rows, Screen(40)))
    assert len(folded) > 3
    assert max(map(len, folded)) <= 40


def test_a_terminal_too_narrow_for_names_shows_whole_lines() -> None:
    rows = [("a-name-that-is-quite-long", "another-name-to-copy", "words and words")]
    columns = (Column("NAME"), Column("POD"), Column("WHY", folds=True))
    (_, row) = table.table_lines(columns, rows, Screen(30))
    assert row == "a-name-that-is-quite-long  another-name-to-copy  words and words"


def test_each_phase_and_each_target_can_be_asked_for() -> None:
    known = {
        lifecycle.CREATED, lifecycle.SUSPENDED, lifecycle.RUNNING,
        lifecycle.COMPLETE, lifecycle.FAILED, lifecycle.LOST,
    }  # fmt: skip
    assert {each.value for each in options.PhaseName} == known
    assert {*options.TargetName} == {names.TARGET_LOCAL, names.TARGET_KUBERNETES}
    assert {*screen.PHASES} - {"Succeeded"} == known - {lifecycle.CREATED}
