"""The list of defects is one of what tests expect."""

import re
from pathlib import Path

from tests.e2e.control_plane import IMAGES
from tests.e2e.sdk.defects import DEFECTS

EXPECTING = re.compile(r"^def (test_\w+)\([^)]*\bexpectation: Expectation", re.MULTILINE)


def test_each_defect_is_named_for_a_test_that_expects_its_absence() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    expecting = {name for file in files for name in EXPECTING.findall(file.read_text())}
    assert set(DEFECTS) == set(IMAGES)
    assert {name for defects in DEFECTS.values() for name in defects} <= expecting
