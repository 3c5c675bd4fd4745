"""The images of the package: what tests run is what the Dockerfiles make."""

import json
import re
from pathlib import Path

import pytest

from from_source.cluster import controller_image, initializer_image
from from_source.cluster.package_image import PackageImage
from tests.tools.conftest import ROOT
from tools.lock import IMAGES

ALL = {each.folder: each for each in (controller_image.IMAGE, initializer_image.IMAGE)}


def versions(lock: Path) -> dict[str, set[str]]:
    found = re.findall(r"^([\w.-]+)==(\S+)", lock.read_text(), re.MULTILINE)
    return {name: {each for other, each in found if other == name} for name, _ in found}


def test_every_folder_of_images_is_one_of_them() -> None:
    assert {each.name for each in (ROOT / "images").iterdir()} == set(ALL) == set(IMAGES)


@pytest.mark.parametrize("image", ALL.values(), ids=ALL)
def test_an_image_installs_versions_of_the_checkouts_lock(image: PackageImage) -> None:
    whole = versions(ROOT / "requirements.lock")
    assert {
        name: each
        for name, each in versions(image.lock).items()
        if not each <= whole.get(name, set())
    } == {}


@pytest.mark.parametrize("image", ALL.values(), ids=ALL)
def test_the_dockerfile_makes_the_same(image: PackageImage) -> None:
    text = (ROOT / "images" / image.folder / "Dockerfile").read_text()
    last = text.replace("\\\n", " ").split("\nFROM ")[-1]
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", last, re.MULTILINE)[0])
    assert entry == ["python", *image.entrypoint[1:]]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ([image.user] if image.user else [])
    words = re.findall(r"^ENV (.*)$", last, re.MULTILINE)[0].split()
    assert set(image.config["Env"]) - set(words) == {"PATH=/usr/local/bin:/usr/bin:/bin"}
    assert f"COPY images/{image.folder}/requirements.lock" in text
