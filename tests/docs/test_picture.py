"""The picture of README.md: what its source says is what it shows."""

import itertools
import re
from xml.etree import ElementTree as ET

from tests.docs import page

FOLDER = page.ROOT / "docs" / "site"
NAME = "how-it-fits-together"


def test_the_picture_is_drawn_from_its_source() -> None:
    source = (FOLDER / f"{NAME}.dot").read_text()
    labels = re.findall(r'label="([^"]*)"', source)
    edges = {
        pair
        for line in re.findall(r"^  (\w+(?: -> \w+)+)", source, re.MULTILINE)
        for names in [line.split(" -> ")]
        for pair in itertools.pairwise(names)
    }
    drawn = ET.parse(FOLDER / f"{NAME}.svg")
    texts = [each.text for each in drawn.iter() if each.tag.endswith("}text")]
    titles = [each.text or "" for each in drawn.iter() if each.tag.endswith("}title")]
    assert sorted(filter(None, texts)) == sorted(
        line for each in labels for line in each.split("\\n")
    )
    assert {tuple(each.split("->")) for each in titles if "->" in each} == edges
    assert f"docs/site/{NAME}.svg" in (page.ROOT / "README.md").read_text()
