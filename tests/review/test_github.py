"""What a GitHub runner makes annotations of."""

from dataclasses import replace

from tests.review.reports import ACTIVE, CLEAN, LIMITS, item
from trainer_infra.review import github
from trainer_infra.review.report import Place


def test_what_fails_is_an_error_and_comes_first() -> None:
    report = replace(CLEAN, items=(item(excuse=ACTIVE), item(), item(LIMITS)), problems=("p",))
    names = [line.split(" ")[0] for line in github.github_text(report).splitlines()]
    assert names == ["::error", "::error", "::warning", "::notice", "The"]


def test_values_and_message_are_escaped_as_a_runner_reads_them() -> None:
    place = Place("a,b:c%.yaml", 3, 7, 3, 9)
    bad = replace(item(place=place, name="x\n::error::y", got="100%"), fix="say\r\nso", seen_at="")
    (line, _) = github.github_text(replace(CLEAN, items=(bad,))).splitlines()
    assert line == (
        "::warning file=a%2Cb%3Ac%25.yaml,line=3,col=7,endLine=3,"
        "title=medium image-digest%3A Images must be pinned by digest::"
        "TrainJob team-a/x\\n::error::y: spec.trainer.image: is not pinned by a digest, got 100%25"
        "%0AFix: say\\r\\nso"
    )


def test_a_value_on_several_lines_has_no_column_and_a_place_without_lines_no_file() -> None:
    lines = github.github_text(
        replace(CLEAN, items=(item(place=Place("f", 3, 7, 5, 2)), item(place=Place("f"), got="b")))
    ).splitlines()
    assert [each.partition(",title=")[0].partition(" title=")[0] for each in lines] == [
        "::warning file=f,line=3,endLine=5",
        "::warning",
        "The check passed.",
    ]


def test_a_message_is_as_long_as_github_shows_it() -> None:
    (line, _) = github.github_text(replace(CLEAN, items=(item(got="x" * 9_000),))).splitlines()
    assert len(line) < 4_200
