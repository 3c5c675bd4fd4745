"""What the summary of a CI step shows."""

from dataclasses import replace

from tests.review.reports import CLEAN, item
from trainer_infra.review import markdown
from trainer_infra.review.report import Place


def test_a_clean_report_is_verdict_and_table() -> None:
    assert markdown.markdown_text(CLEAN) == (
        "## The check passed\n"
        "\n"
        "2 objects of 1 file judged by 1 rule.\n"
        "\n"
        "| Severity | Findings | Exempt | In the baseline |\n"
        "| --- | --- | --- | --- |\n"
        "| critical | 0 | 0 | 0 |\n"
        "| high | 0 | 0 | 0 |\n"
        "| medium | 0 | 0 | 0 |\n"
        "| low | 0 | 0 | 0 |\n"
    )


def test_a_place_has_a_line_where_there_is_one_and_is_no_link() -> None:
    places = (Place("a (b).yaml", 3), Place("a.yaml"), Place("/a.yaml", 3))
    items = tuple(item(place=each, got=each.file) for each in places)
    made = markdown.markdown_text(replace(CLEAN, items=items))
    assert [line.split(" | ")[0] for line in made.splitlines() if "<code>image" in line] == [
        "| <code>a (b).yaml:3</code>",
        "| <code>a.yaml</code>",
        "| <code>/a.yaml:3</code>",
    ]
    assert "](" not in made


def test_what_users_write_is_text() -> None:
    report = replace(CLEAN, items=(item(got="`a`|<b>*c*_d_[e](f)\n@g"),))
    shown = (
        "got &#96;a&#96;&#124;&#60;b&#62;&#42;c&#42;&#95;d&#95;&#91;e&#93;(f)&#92;n@<!-- -->g<br>"
    )
    assert shown in markdown.markdown_text(report)
