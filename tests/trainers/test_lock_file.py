"""A lock file as `packages`: taken exactly, and refused with file and line where it is not pinned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.conftest import Problems, Write
from trainer_infra import CustomTrainer

ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
MAKE = "make the file with `trainer-infra lock`"
Given = Callable[[str], CustomTrainer]


@pytest.fixture
def locked(write: Write) -> Given:
    """A trainer with the text as its lock."""
    write("train.py", "x = 1\n")

    def makes(text: str) -> CustomTrainer:
        write("requirements.lock", text)
        return CustomTrainer("train.py", packages="requirements.lock")

    return makes


def test_a_lock_is_taken_with_markers_hashes_and_indexes(locked: Given) -> None:
    lock = f"""\
        # made by hand
        -i https://a.example.com/simple
        --extra-index-url=https://b.example.com/simple  # ours
        --find-links /wheels
        amber[x]==1.0 ; python_version >= '3.11' \\
            --hash={TWO} \\
            --hash={ONE}
            # via -r requirements.in
        basalt==2.0+local --hash {ONE}
        coral @ https://example.com/coral-1.0.whl#sha256={"3" * 64}
        """
    assert locked(lock).pack().code.packages == (
        "--index-url=https://a.example.com/simple",
        "--extra-index-url=https://b.example.com/simple",
        "--find-links=/wheels",
        "--no-deps",
        f"amber[x]==1.0 ; python_version >= '3.11' --hash={ONE} --hash={TWO}",
        f"basalt==2.0+local --hash={ONE}",
        f"coral @ https://example.com/coral-1.0.whl#sha256={'3' * 64}",
    )


def test_what_is_not_pinned_is_refused_with_its_line(locked: Given, problems: Problems) -> None:
    said = problems(
        locked(
            f"""\
            amber>=1
            basalt==1.0 \\
                --hash={ONE}
            coral==1.0
            -r other.txt
            --index-url https://user:word@example.com/simple
            --find-links wheels
            zinc==1.0 --hash=md5:12
            """
        )
    )
    assert said[0].startswith(
        "requirements.lock:5: packages: is an option that a lock cannot have, got '-r'; a lock file has "
    )
    assert said[1].startswith("requirements.lock:6: packages: may hold a credential")
    assert "user:word" not in said[1]
    assert said[2].startswith(
        "requirements.lock:7: packages: is not the URL of a package index, got 'wheels'"
    )
    moving = "has no exact version, so the same job could train with other code"
    assert said[3:] == [
        f"requirements.lock:1: packages: {moving}, got 'amber>=1'; write name==version, or {MAKE}",
        f"requirements.lock:1: packages: has no hash, and others have one, got 'amber>=1'; {MAKE}",
        f"requirements.lock:4: packages: has no hash, and others have one, got 'coral==1.0'; {MAKE}",
        (
            "requirements.lock:8: packages: has an invalid hash, got 'md5:12'; write "
            "--hash=sha256:<64 hex digits>"
        ),
    ]


def test_a_lock_that_is_not_there_empty_or_a_requirement_is_said(
    locked: Given, problems: Problems
) -> None:
    assert problems(locked("# nothing\n")) == [
        "requirements.lock: packages: has no requirement in it"
    ]
    assert problems(CustomTrainer("train.py", packages="none.lock")) == [
        (
            "packages: there is no lock file none.lock, got 'none.lock'; paths are relative to "
            f"{Path.cwd()}"
        )
    ]
    assert problems(CustomTrainer("train.py", packages="jax==0.9.0")) == [
        "packages: must be a list of requirements, got 'jax==0.9.0'; write packages=[\"jax==0.9.0\"]"
    ]


def test_a_lock_counts_by_what_it_says(locked: Given) -> None:
    born = locked("amber==1.0\nbasalt==1.0\n").pack().code
    same = locked("# a comment\nbasalt==1.0\n\namber==1.0\n").pack().code
    other = locked("amber==1.0\nbasalt==1.1\n").pack().code
    assert born.of_the_user() == same.of_the_user()
    assert born.of_the_user() != other.of_the_user()


def test_wheels_go_before_the_indexes_of_a_lock(locked: Given) -> None:
    locked("--index-url https://a.example.com/simple\namber==1.0\n")
    made = CustomTrainer("train.py", packages=Path("requirements.lock"), wheel_house="/wheels")
    assert made.pack().code.packages == (
        "--no-index",
        "--find-links=/wheels",
        "--no-deps",
        "amber==1.0",
    )


def test_indexes_stand_in_one_place(locked: Given, problems: Problems) -> None:
    locked("--index-url https://a.example.com/simple\namber==1.0\n")
    made = CustomTrainer(
        "train.py", packages="requirements.lock", pip_index_urls=["https://b.example.com"]
    )
    assert problems(made) == [
        "pip_index_urls: is given, and the lock file says it too; keep one of them"
    ]


def test_wheels_and_the_cache_are_folders_that_can_be_mounted(
    locked: Given, problems: Problems
) -> None:
    locked("amber==1.0\n")
    fix = "write pvc://CLAIM/PATH, or the absolute path of a folder"
    made = CustomTrainer(
        "train.py",
        packages=["amber==1.0"],
        pip_index_urls=["https://a.example.com"],
        wheel_house="wheels",
        packages_at="s3://key:word@bucket",
        image_has_packages="yes",
    )
    assert problems(made) == [
        f"wheel_house: is not an address of a folder, got 'wheels'; {fix}",
        (
            "wheel_house: is the only place that packages come from, and pip_index_urls names others; keep "
            "one of them"
        ),
        f"packages_at: is not an address of a folder; {fix}",
        "image_has_packages: must be true, false or a list of names of packages, got 'yes'",
    ]
    made = CustomTrainer("train.py", wheel_house="pvc://Claim/x", packages_at="/a/../b")
    assert problems(made) == [
        f"wheel_house: names no volume claim, got 'pvc://Claim/x'; {fix}",
        "wheel_house: says where packages come from, and there are none; leave it out, or give packages",
        "packages_at: may not have .. in it, got '/a/../b'",
    ]


def test_a_lock_is_read_once_and_again_when_it_is_another(
    locked: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    whole = Path.read_text

    def counted(path: Path, *args: Any, **more: Any) -> str:
        read.extend([path] if path.name == "requirements.lock" else [])
        return whole(path, *args, **more)

    monkeypatch.setattr(Path, "read_text", counted)
    trainer = locked("amber==1\n")
    assert trainer.pack().code.packages == ("--no-deps", "amber==1")
    trainer.pack()
    assert len(read) == 1
    assert locked("amber==20\n").pack().code.packages == ("--no-deps", "amber==20")
