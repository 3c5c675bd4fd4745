"""Lines of programs that write for a terminal: of a bar the newest state, of all else every line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.runs.terminal_lines import LONGEST, TerminalLines, lines_of

BLOCKS = ["\r  0%|    |", "\r 50%|██  |", "\r100%|████|"]
UP = "\x1b[A"


def lines(*writes: str) -> list[str]:
    """All lines of a program that is looked at once, at its end."""
    drawn = TerminalLines()
    return [*(line for each in writes for line in drawn.feed(each)), *drawn.end()]


def states(*writes: str) -> list[str]:
    """What comes of a program that is looked at after each of its writes."""
    drawn = TerminalLines()
    found = []
    for each in writes:
        found += [*drawn.feed(each), *drawn.newest(unfinished=True)]
    return [*found, *drawn.end()]


@pytest.mark.parametrize(
    ("writes", "last"),
    [
        ([*BLOCKS, "\n"], ["100%|████|"]),
        (BLOCKS, ["100%|████|"]),
        (["0%\r", "50%\r", "100%\r"], ["100%"]),
        (["0%\r", "50%\r", "100%\r\n"], ["100%"]),
        (["\r\x1b[K0%", "\r\x1b[K50%"], ["50%"]),
        (["\x1b[2K\x1b[1G0%", "\x1b[2K\x1b[1G100%"], ["100%"]),
        (["\x1b[?25l0%\x1b[0K\r", "50%\x1b[0K\r", "\x1b[?25h"], ["50%"]),
        (["1/9 [>]", f"{7 * chr(8)}\r2/9 [=>]", f"{8 * chr(8)}\r9/9 [==]\n"], ["9/9 [==]"]),
        (["wait -", "\b\\", "\b|", "\b/"], ["wait /"]),
        (["\r\x1b[32m0%\x1b[0m", "\r\x1b[32m9%\x1b[0m\n"], ["\x1b[32m9%\x1b[0m"]),
    ],
    ids=[
        "tqdm",
        "no end",
        "at the end",
        "windows",
        "pip",
        "node",
        "apt",
        "keras",
        "spinner",
        "colour",
    ],
)
def test_of_a_bar_the_last_state_is_kept(writes: list[str], last: list[str]) -> None:
    assert lines(*writes)[-1:] == last
    assert states(*writes)[-1:] == last


def test_each_state_is_seen_when_it_comes_and_none_twice() -> None:
    assert states(*BLOCKS, "\n", "next\n") == [*(each[1:] for each in BLOCKS), "next"]
    assert states("0%\r", "", "50%\r", "50%\r", "\n") == ["0%", "50%"]


def test_a_state_that_was_seen_half_written_comes_again_whole() -> None:
    assert states("\rstep 1", "/5\r") == ["step 1", "step 1/5"]


def test_a_line_that_grows_without_a_carriage_return_comes_once_it_has_its_end() -> None:
    assert states("epoch 1", " loss 0.5", "\n") == ["epoch 1 loss 0.5"]


def test_carriage_return_and_line_feed_are_one_end() -> None:
    assert lines("a\r\nb\r\n\r\nc\r", "\n") == ["a", "b", "", "c"]


def test_a_line_behind_a_bar_that_was_erased_or_ends_its_states_itself_follows_the_last_state() -> (
    None
):
    assert lines("\r99%", "\r100%", "\r     \r", "saved\n") == ["100%", "saved"]
    assert lines("98%\r", "99%\r", "done \n") == ["99%", "done "]


def test_several_bars_have_a_state_each_and_their_redraws_are_no_lines() -> None:
    begun = ["\ra 0%", f"\n\rb 0%{UP}"]
    on = [each for n in range(1, 90) for each in (f"\ra {n}%", f"\n\rb {n}%{UP}")]
    assert lines(*begun, *on, "\n\nsaved\n") == ["a 0%", "a 89%", "b 89%", "", "saved"]
    assert states(*begun, *on[:4]) == ["a 0%", "b 0%", "a 1%", "b 1%", "a 2%", "b 2%"]


def test_a_table_that_is_drawn_anew_has_the_newest_state_of_each_row() -> None:
    drawn = [f"\r\x1b[2K{UP}\x1b[2K{n} first\n{n} second" for n in range(40)]
    found = lines("first\nsecond", *drawn)
    assert len(found) < 10
    assert set(found) > {"39 first", "39 second"}


def test_what_is_printed_below_moved_bars_is_kept_though_a_bar_is_drawn_over_it() -> None:
    found = lines(
        "\rb 0%\n", f"\rc 0%{UP}", "\n\rc 1%\n", "loss 0.5\n", f"{UP}loss 0.4\n", "\rb 1%"
    )
    assert [each for each in found if "loss" in each] == ["loss 0.5", "loss 0.4"]


def test_nothing_that_moves_or_erases_is_handed_out_and_torn_sequences_are_put_together() -> None:
    torn = lines("a\x1b[2", "Jb\x1b", "[31mc\x1b[", "0m\x1b[3;4Hd\n")
    assert torn == ["ab\x1b[31mc\x1b[0m", "d"]
    found = lines("x\x1b7\x1b[10Cy\x1bM\x1b[?1049hz\x1b[J\n\x1bE")
    assert not any(mark in "".join(found) for mark in ("\x1b", "\r", "\b"))


def test_a_line_without_an_end_is_handed_out_when_it_is_very_long() -> None:
    drawn = TerminalLines()
    assert drawn.feed("x" * LONGEST) == []
    assert drawn.feed("x") == ["x" * (LONGEST + 1)]
    assert drawn.feed("y\n") == ["y"]


@given(st.lists(st.text(st.characters(exclude_characters="\r\b\x1b"))))
def test_text_without_them_is_what_its_lines_are_however_it_was_cut(writes: list[str]) -> None:
    whole = "".join(writes)
    ended = whole.removesuffix("\n").split("\n") if whole else []
    assert lines(*writes) == ended
    assert states(*writes) == ended


@given(st.lists(st.text(st.sampled_from("ab \n\r\b\x1b[AK2"))))
def test_whatever_is_written_what_is_handed_out_moves_no_cursor(writes: list[str]) -> None:
    text = "".join((*lines(*writes), *states(*writes)))
    assert not set(text) & {"\r", "\n", "\b"}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", ["plain"]),
        ("", [""]),
        ("windows\r", ["windows"]),
        ("\r0%\r50%\r100%", ["100%"]),
        (f"\router 50%{UP}", ["outer 50%"]),
        (UP, []),
        ("0%\r50%\rdone", ["50%", "done"]),
    ],
)
def test_of_a_line_that_a_kubelet_kept_the_newest_states_are_lines(
    line: str, shown: list[str]
) -> None:
    assert lines_of(line) == shown
