"""The folders of tests/render hold what the reference makes, or says, of them.

`reference.yaml` is written by write_golden.py; here it is what the reference makes today, and what
ours makes in the mode that is the reference's.
"""

import re
from pathlib import Path

import pytest
import yaml

from tests.parity import canonical, comparison, write_golden

pytestmark = pytest.mark.verify
RENDER = Path(__file__).parents[1] / "render"
GOLDEN = sorted((RENDER / "golden").iterdir())
REFUSED = sorted((RENDER / "refused").iterdir())


@pytest.mark.parametrize("folder", [*GOLDEN, *REFUSED], ids=lambda folder: folder.name)
def test_a_folder_holds_what_the_reference_makes_of_it(folder: Path) -> None:
    written = (folder / "reference.yaml").read_text(encoding="utf-8")
    assert write_golden.written(write_golden.case_of(folder)) == written


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
