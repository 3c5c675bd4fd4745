"""The folders of tests/render hold what the reference makes, or says, of them.

`reference.yaml` is written by write_golden.py; here it is what the reference makes today, and what
ours makes in the mode that is the reference's.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.parity import canonical, comparison, reference, write_golden

pytestmark = pytest.mark.verify
RENDER = Path(__file__).parents[1] / "render"
GOLDEN = sorted((RENDER / "golden").iterdir())
REFUSED = sorted((RENDER / "refused").iterdir())


@pytest.mark.parametrize(
    "runs",
    [pytest.param(1, id="once"), pytest.param(write_golden.RUNS, marks=pytest.mark.soak, id="all")],
)
def test_a_folder_holds_what_the_reference_makes_of_it(runs: int) -> None:
    """Folders with several variants are always run often; the others have a second one or not."""
    written = {each: (each / "reference.yaml").read_text("utf-8") for each in (*GOLDEN, *REFUSED)}
    several = [each for each, text in written.items() if "# Variant 1 " in text]
    one = [each for each in written if each not in several]
    assert several
    assert made(several, write_golden.RUNS) | made(one, runs) == written


def made(folders: Sequence[Path], runs: int) -> dict[Path, str]:
    """What the reference makes of each folder, asked for all at once: to start it is half the time."""
    outcomes = reference.run([*map(write_golden.case_of, folders)], repeat=runs)
    return dict(zip(folders, map(write_golden.text_of, outcomes), strict=True))


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_ours_makes_what_the_reference_makes(folder: Path) -> None:
    text = (folder / "reference.yaml").read_text(encoding="utf-8")
    variants = [
        list(yaml.safe_load_all(each)) for each in re.split(r"# Variant \d+ of \d+\.\n", text)
    ]
    mine = canonical.objects(comparison.ours(write_golden.case_of(folder)).objects)
    assert [mine[key] for key in sorted(mine)] in [
        [item for item in each if isinstance(item, dict)] for each in variants
    ]


@pytest.mark.parametrize("folder", REFUSED, ids=lambda folder: folder.name)
def test_ours_says_what_the_reference_says(folder: Path) -> None:
    text = (folder / "reference.yaml").read_text(encoding="utf-8")
    theirs = [(each["field"], each["detail"]) for each in yaml.safe_load(text)["errors"]]
    mine = comparison.ours(write_golden.case_of(folder)).problems
    assert sorted((each.path, each.what) for each in mine) == sorted(theirs)
