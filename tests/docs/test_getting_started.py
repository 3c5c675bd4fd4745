"""docs/getting-started.md, word for word; its section on a cluster is followed by tests/e2e."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.project import processes_of
from tests.docs import page, walk
from tests.docs.page import ROOT
from trainer_infra.cli import init

PAGE = ROOT / "docs" / "getting-started.md"
BLOCKS = list(page.blocks(PAGE))


@pytest.fixture
def reader(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[walk.Walk]:
    """Who is in a checkout."""
    with walk.walking(ROOT, walk.environment(pulumi_env, tmp_path / "reader")) as made:
        yield made
    for process in processes_of(tmp_path):
        process.kill()


def test_the_page_leads_from_an_empty_folder_to_a_sweep(reader: walk.Walk) -> None:
    reader.follow(block for block in BLOCKS if block.section != "On a cluster")
    assert reader.folder.name == "english"
    assert (reader.folder / "Pulumi.yaml").exists()


def test_the_page_and_the_readme_show_the_program_that_init_writes() -> None:
    starter = (init.STARTER / "__main__.py").read_text()
    first = {str(each.page.name): each.text for each in reversed(page.ALL) if each.is_program}
    assert (first["getting-started.md"], first["README.md"]) == (starter, starter)


def test_the_page_begins_where_it_says_and_has_every_part() -> None:
    sections = list(dict.fromkeys(block.section for block in BLOCKS))
    assert sections == [
        *("Install", "Train a model", "Stop it, and go on"),
        *("A sweep", "On a cluster", "Clean up"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```bash\necho one\n```\n\n```text\ntwo\n```\n", "one"),
        ("```bash\nls /nowhere\necho went on\n```\n", "No such file"),
        ("```bash\ncd /\nfalse | cat\n```\n", "page.md:1"),
    ],
)
def test_a_reader_stops_where_the_page_is_wrong(
    reader: walk.Walk, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "page.md"
    file.write_text(text)
    with pytest.raises(AssertionError, match=said) as caught:
        reader.follow(page.blocks(file))
    assert "went on" not in str(caught.value)


def test_a_line_that_does_not_come_is_found() -> None:
    said = "a\naccuracy: 0.9137\nrun: job-0123abcd  Complete\n"
    shown = "accuracy: 0.906\n\n...\nrun: job-ffffffff Complete\n"
    assert list(walk.unseen(shown, said)) == []
    assert list(walk.unseen("run: job-ffffffff\na\n", said)) == ["a"]
    assert list(walk.unseen("accuracy: 1\n", said)) == ["accuracy: 1"]
