"""Python packages for pods: installed once, whole or not at all, and run by the image's Python."""

import zipfile
from pathlib import Path

import pytest

from from_source.cluster import python
from from_source.cluster.python import Packages
from trainer_infra.errors import NotAvailable


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package `greeting` 1.0 with a command of that name, and nothing else, is published."""
    folder = tmp_path / "published"
    folder.mkdir()
    info = "greeting-1.0.dist-info"
    files = {
        "greeting/__init__.py": "def main(): print('hello')\n",
        "greeting/unused/large.txt": "never read\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ngreeting = greeting:main\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / "greeting-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def offer(monkeypatch: pytest.MonkeyPatch, packages: Packages) -> None:
    monkeypatch.setitem(python.ENVIRONMENTS, "ours", packages)


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_packages_are_installed_once_for_the_images_python_without_what_is_never_read(
    monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    if installer == "pip":
        # That there is no index cannot be said to uv by what pip is set to.
        monkeypatch.setenv("PIP_NO_INDEX", "1")
    offer(monkeypatch, Packages(("greeting==1.0",), removed=("greeting/unused",)))

    folder = python.environment("ours")

    assert (folder / "greeting" / "__init__.py").is_file()
    assert not (folder / "greeting" / "unused").exists()
    assert (folder / "bin" / "greeting").read_text().startswith("#!/usr/bin/env python3\n")
    assert folder.stat().st_mode & 0o777 == 0o755
    made = folder.stat().st_ino
    assert python.environment("ours").stat().st_ino == made


@pytest.mark.usefixtures("published")
def test_an_install_that_was_killed_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Packages(("greeting==1.0",)))
    folder = python.environment("ours")
    left = folder.with_suffix(".partial")
    folder.rename(left)
    (left / "half.py").touch()

    again = python.environment("ours")

    assert again == folder
    assert not (again / "half.py").exists()
    assert not left.exists()


@pytest.mark.usefixtures("published")
def test_a_failed_install_leaves_no_folder_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, Packages(("greeting==2.0",)))

    for _ in range(2):
        with pytest.raises(
            NotAvailable, match=r"(?s)installing greeting==2\.0 failed .*no version of"
        ):
            python.environment("ours")
