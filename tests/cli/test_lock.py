"""`trainer-infra lock` resolves a job's packages once, into a file that CustomTrainer takes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.local.package_index import Package, serving
from trainer_infra.cli import lock
from trainer_infra.cli.options import LockRequest
from trainer_infra.errors import NotAvailable
from trainer_infra.local import installer
from trainer_infra.trainers.pods import lock_file

PACKAGES = (
    Package("jade"),
    Package("torch", needs=("jade",)),
    Package("amber", version="1.0"),
    Package("amber", version="2.0"),
    Package("trl", needs=("torch", "amber")),
)


@pytest.fixture
def resolving(cli: Command) -> Iterator[Command]:
    """The command, on a machine whose pip is set to an index of these packages."""
    with serving(*PACKAGES) as index:
        foreign = ("PIP_", "UV_")
        own = {
            name: value
            for name, value in cli.env.items()
            if not name.startswith(foreign) and not name.lower().endswith("_proxy")
        }
        pip = {"PIP_INDEX_URL": index.url, "UV_CACHE_DIR": str(cli.folder / "uv")}
        yield Command(cli.folder, {**own, **pip})


def names_in(path: Path) -> list[str]:
    return [each.partition(" ")[0] for each in lock_file.read_lock(path).requirements]


def test_every_package_is_pinned_with_the_hashes_of_its_files(resolving: Command) -> None:
    resolving.write("requirements.in", "trl\n")
    done = resolving("lock")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "requirements.lock: 4 packages; give it to CustomTrainer(packages='requirements.lock')\n"
    )
    made = resolving.folder / "requirements.lock"
    assert names_in(made) == ["amber==2.0", "jade==1.0", "torch==1.0", "trl==1.0"]
    (amber,) = [each for each in lock_file.read_lock(made).requirements if "amber" in each]
    assert amber == f"amber==2.0 --hash=sha256:{PACKAGES[3].sha256()}"
    assert "trainer-infra lock requirements.in --python 3" in made.read_text()
    assert sorted(each.name for each in resolving.folder.glob("*lock*")) == ["requirements.lock"]


def test_what_the_image_has_is_left_out_with_what_only_it_needs(resolving: Command) -> None:
    resolving.write("requirements.in", "trl\n")
    done = resolving("lock", "-o", "own.lock", "--python", "3.10", "--image-has", "torch")
    assert (done.code, done.err) == (0, "")
    made = resolving.folder / "own.lock"
    assert names_in(made) == ["amber==2.0", "trl==1.0"]
    assert "lock requirements.in --python 3.10 --image-has torch" in made.read_text()


def test_a_lock_keeps_its_versions_until_it_is_upgraded(resolving: Command) -> None:
    resolving.write("requirements.in", "amber<2\n")
    assert resolving("lock").code == 0
    resolving.write("requirements.in", "amber\njade\n")
    made = resolving.folder / "requirements.lock"
    assert resolving("lock").code == 0
    assert names_in(made) == ["amber==1.0", "jade==1.0"]
    assert resolving("lock", "--upgrade").code == 0
    assert names_in(made) == ["amber==2.0", "jade==1.0"]


def test_what_cannot_be_resolved_is_one_error_and_leaves_the_lock(resolving: Command) -> None:
    resolving.write("requirements.in", "zinc\n")
    resolving.write("requirements.lock", "amber==1.0\n")
    done = resolving("lock")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("requirements.in cannot be locked: Because zinc was not found in")
    assert len(done.err.splitlines()) == 1
    assert (resolving.folder / "requirements.lock").read_text() == "amber==1.0\n"


def test_a_file_without_a_package_is_said_by_its_own_name(resolving: Command) -> None:
    resolving.write("requirements.in", "# what we import\n")
    done = resolving("lock")
    assert (done.code, done.err) == (1, "requirements.in: packages: has no requirement in it\n")


def test_a_file_that_is_not_there_is_said(cli: Command) -> None:
    done = cli("lock", "none.in")
    assert (done.code, done.err.partition(";")[0]) == (1, "there is no file none.in")


def test_a_machine_without_uv_is_said(
    cli: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = Path(cli.folder, cli.write("requirements.in", "amber\n"))
    monkeypatch.setattr(installer, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotAvailable, match="locking packages needs uv, which is neither beside "):
        lock.lock_requirements(LockRequest(file))
