"""What a script starts, what joins it, and that no text keeps the reader busy or makes it fail."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.render.command_lines import program
from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables

VARIABLES = ContainerVariables({"URL": "http://a/b", "OPTIONS": "-x 1 -y", "LATER": None})


def shown(each: Program) -> str:
    """`name arguments`, then what it reads, whose output it has, its files, texts and variables."""
    around = each.around
    parts = [" ".join((each.name, *(f"-{name}" for name in each.options), *each.starts))]
    parts += [f"reads {one.name}" for one in around.reads]
    parts += [f"has {one.name}" for one in around.made_by]
    parts += [f"> {one}" for one in around.files]
    parts += [f"<< {one.strip()}" for one in around.here]
    parts += [f"{name}={value}" for name, value in around.settings.items()]
    parts += ["&"] if around.is_background else []
    parts += ["forever"] if around.is_endless else []
    return "; ".join(parts).replace(UNREAD, "?")


def started(script: str) -> list[str]:
    line = program.read_command_line(["bash", "-c", script], VARIABLES)
    return [shown(each) for each in line.every]


@pytest.mark.parametrize(
    ("script", "programs"),
    [
        ("a 'b c' \"d $URL\" e\\ f # g", ["a b c d http://a/b e f"]),
        ('a $OPTIONS "$OPTIONS" $LATER ${LATER}x', ["a -x 1 -y -x 1 -y ? ?x"]),
        ("a | b |& c", ["a", "b; reads a", "c; reads b"]),
        ("a |\n b", ["a", "b; reads a"]),
        ("{ a; b; } 2>x | c", ["a", "b", "; > x", "c; reads a; reads b; reads "]),
        ("(a) | (b; c)", ["a", "b; reads a", "c; reads a"]),
        ("a & b; wait", ["a; &", "b", "wait"]),
        ("X=1 a", ["a; X=1"]),
        ("X=1; a $X", ["; X=1", "a 1"]),
        ("X=1; X=2; a $X", ["; X=1", "; X=2", "a ?"]),
        ("export X=$URL; a", ["export X=http://a/b; X=http://a/b", "a; X=http://a/b"]),
        ("env X=1 nice -n 5 a", ["a; X=1"]),
        ("a $(b c) `d`", ["b c", "d", "a ? ?; has b; has d"]),
        ('a "x$(b "$(c)")"', ["c", "b ?; has c", "a x?; has c; has b"]),
        ("a <(b) > c 2>&1 < d", ["b", "a ?; has b; > c; > 1; > d"]),
        ("a <<E > b\nx $URL\nE\nc", ["a; > b; << x http://a/b", "c"]),
        ("a <<'E'\nx $URL\nE\n", ["a; << x $URL"]),
        ("a <<-E\n\tx\n\tE\nb", ["a; << x", "b"]),
        ("a <<< 'b c'", ["a; << b c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while true; do a; done", ["true", "a; forever"]),
        ("until false; do a; done & b", ["false; &", "a; &; forever", "b"]),
        ("for x in $(a); do b $x; done", ["a", "; has a", "b ?"]),
        ("case $LATER in a|b) c;; (d) e;& *) f; esac; g", ["c", "e", "f", "g"]),
        ("f() { a; }; function g { b; }; f; g", ["a", "b", "f", "g"]),
        (
            "[[ -n $X && $Y < 3 ]] && a; (( 1 + 2 )); [ x ] || b",
            [":; > 3", "a", "((", "[ x ]", "b"],
        ),
        ("eval 'a | b'", ["a", "b; reads a"]),
        ("trap 'a; b' TERM; c", ["a", "b", "c"]),
        ("sh -c 'a \"$1\"' x y", ["a y"]),
        ("sh -c 'exec \"$@\"' -- a b", ["a b"]),
        ("bash <<E\na | b\nE", ["bash; << a | b", "a", "b; reads a"]),
        ("echo 'a b' | sh", ["echo a b", "sh; reads echo", "a b"]),
        (". ./x; source y", ["source ./x", "source y"]),
        ("exec 3<>/dev/tcp/h/1", ["; > /dev/tcp/h/1"]),
        ("xargs -n1 a | timeout -k 5 10 b", ["a", "b; reads a"]),
        ("su -c 'a b' user", ["a b"]),
        ("a $((60 * 60)) $((X + 1))", ["a 3600 ?"]),
        ("X=$(a); b $X", ["a", "; has a; X=?", "a", "b ?; has a"]),
        ("a | while read l; do b $l; done", ["a", "read l; reads a", "a", "b ?; reads a; has a"]),
        ("a\u00a0b \u2003 c\x0bd", ["a\u00a0b \u2003 c\x0bd"]),
        ("$'\\x61\\142' $'b\\tc\\'d\\\\'", ["ab b\tc'd\\"]),
        ('a <<E\n$(b "x)") "$1" \\$X `c`\nE', ["b x)", "c", 'a; has b; has c; << ? "?" $X ?']),
        ("A=(x y); a ${A[0]} $'b\\nc'", ["; A=?", "a ? b\nc"]),
        ("mpirun -np 2 bash -c 'a | b'", ["mpirun -np bash -c a | b", "a", "b; reads a"]),
    ],
)
def test_what_a_script_starts(script: str, programs: list[str]) -> None:
    assert [each.strip() for each in started(script)] == [each.strip() for each in programs]


WORDS = (
    *("curl x", "|", "sh", "$(", ")", "`", '"', "'", "\\", "\n", ";", "&", "<<E", "E\n", "<(", ">"),
    *("if", "then", "fi", "while true", "do", "done", "case x in", "esac", ";;", "{", "}", "f()"),
    *(
        "function g",
        "[[",
        "]]",
        "((",
        "))",
        "$X",
        "${X}",
        "$@",
        "$1",
        "X=$(a)",
        "export Y=2",
        "eval",
    ),
    *(
        "trap",
        "source",
        "env A=1",
        "-c",
        "bash",
        "python",
        "-",
        "#c",
        "for i in a",
        "<<<",
        "$'",
        "=(",
        "\u00a0",
        "\x0b",
    ),
)


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(["", " "]))
def test_any_text_is_read(parts: list[str], between: str) -> None:
    text = between.join(parts)
    program.read_shell_text(text)
    program.read_command_line(["bash", "-c", text])


def endless(length: int = 2**15) -> Iterator[str]:
    parts = (
        "$(",
        '"$(',
        "`a`",
        "(",
        "{ ",
        "$(a)",
        "a|",
        "if a; then ",
        "a ",
        "A=1;",
        "$$",
        "''",
        ">a ",
    )
    yield from (part * (length // len(part)) for part in parts)
    yield "X=$(" + "a;" * 3000 + "); " + "$X " * 5000
    yield "A=$(x);" + "".join(f"A{each}=$A$A;A=$A{each};" for each in range(1000))


@pytest.mark.parametrize("text", [*endless()], ids=lambda text: text[:9])
def test_no_text_keeps_a_webhook_busy(text: str) -> None:
    line = program.read_command_line(["bash", "-c", text])
    assert len(line.every) <= 2 * program.MOST_PROGRAMS
    assert all(len(each.around.made_by) <= program.MOST_PROGRAMS for each in line.every)
