"""What installs this package is where it is from: nothing sends a user to a name that anyone can take."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs import page
from trainer_infra.in_pod import own_place

REPOSITORY = "https://git.example.com/platform/trainer_infra"
ORIGINS: dict[str, tuple[Any, str, str]] = {
    "a repository": (
        {"url": REPOSITORY, "vcs_info": {"vcs": "git", "commit_id": "7fcac2a"}},
        f"trainer-infra[sdk] @ git+{REPOSITORY}@7fcac2a",
        f"pip install 'trainer-infra[sdk] @ git+{REPOSITORY}@7fcac2a'",
    ),
    "a folder of a repository": (
        {
            "url": REPOSITORY,
            "subdirectory": "python",
            "vcs_info": {"vcs": "git", "commit_id": "7fcac2a"},
        },
        f"trainer-infra[sdk] @ git+{REPOSITORY}@7fcac2a#subdirectory=python",
        f"pip install 'trainer-infra[sdk] @ git+{REPOSITORY}@7fcac2a#subdirectory=python'",
    ),
    "a wheel": (
        {"url": "https://wheels.example.com/trainer_infra-0.1.0.whl", "archive_info": {}},
        "trainer-infra[sdk] @ https://wheels.example.com/trainer_infra-0.1.0.whl",
        "pip install 'trainer-infra[sdk] @ https://wheels.example.com/trainer_infra-0.1.0.whl'",
    ),
    "a checkout": (
        {"url": "file:///work/my%20checkout", "dir_info": {}},
        "trainer-infra[sdk] @ file:///work/my%20checkout",
        "pip install 'trainer-infra[sdk] @ file:///work/my%20checkout'",
    ),
    "a checkout that is edited": (
        {"url": "file:///work/my%20checkout", "dir_info": {"editable": True}},
        "trainer-infra[sdk] @ file:///work/my%20checkout",
        "pip install -e '/work/my checkout[sdk]'",
    ),
    "an index": (None, "trainer-infra[sdk]==7.5", "pip install 'trainer-infra[sdk]==7.5'"),
}


@pytest.mark.parametrize("name", ORIGINS)
def test_what_installs_it_is_where_it_was_installed_from(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin, requirement, command = ORIGINS[name]
    # As pip records it; the first of a path is the one that counts.
    record = tmp_path / "trainer_infra-7.5.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: trainer-infra\nVersion: 7.5\n")
    if origin:
        (record / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert own_place.requirement("sdk") == requirement
    assert own_place.install_command("sdk") == command


def test_a_place_of_the_users_is_a_path_or_a_url(tmp_path: Path) -> None:
    (tmp_path / "my wheel.whl").write_text("")
    for place in (f"git+{REPOSITORY}@v1", "git+ssh://git@host/x", "https://host/x.whl"):
        assert own_place.place_requirement(place, "pulumi") == f"trainer-infra[pulumi] @ {place}"
    found = own_place.place_requirement(str(tmp_path / "my wheel.whl"), "pulumi")
    assert found == f"trainer-infra[pulumi] @ {(tmp_path / 'my wheel.whl').as_uri()}"
    for wrong in ("trainer-infra", "git@host:x.git", str(tmp_path / "missing"), "ftp://host/x"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            own_place.place_requirement(wrong, "pulumi")


def test_no_page_message_or_template_names_the_package_as_if_an_index_had_it() -> None:
    """`CHECKOUT[extra]` says it without a name."""
    wrong = re.compile(
        r"install [^\n`]*\btrainer-infra\b|trainer-infra\[(?!\{)[a-z,]+\](?! @)|: trainer-infra\b *#"
    )
    files = [
        *page.ROOT.glob("trainer_infra/**/*.py"),
        *page.ROOT.glob("docs/*.md"),
        *(each for each in page.ROOT.glob("gitops/**/*") if each.is_file()),
        *page.ROOT.glob("examples/**/*.md"),
        page.ROOT / "README.md",
    ]
    found = [
        f"{file.relative_to(page.ROOT)}: {each.group()}"
        for file in files
        for each in wrong.finditer(file.read_text())
    ]
    assert len(files) > 100
    assert found == []
