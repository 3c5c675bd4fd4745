"""A cache of packages: installed once, whole or not at all, and nobody waits for the dead."""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.project import processes_of
from tests.in_pod.conftest import Ended, Image, Mount
from tests.local.jobs import eventually
from tests.local.package_index import Index, Package, serving
from trainer_infra.in_pod import package_cache, package_installation

Wanted = Callable[..., Mount]
LARGE = Package("jade", size=1_000_000)
SHOW = ("python", "-c", "import jade; print(jade.VERSION)")


def sorts(ended: Ended) -> list[str]:
    """The first words of what was said."""
    return [line.split(" ")[0] for line in ended.ours()]


def test_a_second_start_installs_nothing_and_says_so(quick: Image, wanted: Wanted) -> None:
    mount = wanted(["basalt==1.0"])
    first = mount.run(quick, "python", "-c", "import basalt")
    assert sorts(first) == ["installing", "installed"], first.err
    (folder,) = mount.environments()
    key = folder.name.partition(".")[0]

    second = mount.run(quick, "python", "-c", "import basalt")

    by = os.uname().nodename
    said = f"nothing to install, the packages are in the cache ({key}, by {by})"
    assert (second.code, second.ours()) == (0, [said])
    assert mount.environments() == [folder]


def test_other_packages_and_another_image_are_another_environment(
    quick: Image, wanted: Wanted
) -> None:
    without_amber = Image(quick.python, quick.programs)
    mount = wanted(["basalt==1.0"])
    for image, packages in (
        (quick, ["basalt==1.0"]),
        (without_amber, ["basalt==1.0"]),
        (quick, ["coral==1.0"]),
    ):
        mount = wanted(packages)
        ended = mount.run(image, "python", "-c", "import amber, basalt; print(amber.__file__)")
        assert sorts(ended) == ["installing", "installed"], ended.err
    assert len(mount.environments()) == 3


def test_of_several_at_once_one_installs(quick: Image, wanted: Wanted) -> None:
    with serving(LARGE) as index:
        mount = wanted(["jade==1.0"], index=index.url)
        started = [mount.start(quick, *SHOW) for _ in range(3)]
        eventually(lambda: any("files/jade" in each for each in index.asked))
        index.open.set()
        ended = [
            Ended(each.returncode, *said)
            for each, said in ((each, each.communicate()) for each in started)
        ]
    assert [(each.out, each.code) for each in ended] == [("1.0\n", 0)] * 3, ended
    said = [each.ours() for each in ended]
    assert sum(each[0].startswith("installing") for each in said) == 1
    assert sum(each[-1].startswith("nothing to install") for each in said) == 2
    assert len([each for each in index.asked if each.endswith(".whl")]) == 1
    assert len(mount.environments()) == 1


@dataclass(frozen=True)
class Halfway:
    """An installation that has half of a wheel."""

    mount: Mount
    process: subprocess.Popen[str]
    index: Index


@pytest.fixture
def halfway(quick: Image, wanted: Wanted) -> Iterator[Halfway]:
    with serving(LARGE) as index:
        mount = wanted(["jade==1.0"], index=index.url)
        with mount.start(quick, *SHOW) as process:
            eventually(lambda: any("files/jade" in each for each in index.asked))
            yield Halfway(mount, process, index)


@pytest.mark.soak
def test_who_waits_says_for_whom(halfway: Halfway, quick: Image) -> None:
    with halfway.mount.start(quick, *SHOW) as second:
        assert second.stderr is not None
        line = second.stderr.readline()
        halfway.index.open.set()
        second.communicate()
    who = os.uname().nodename
    assert line == f"trainer-infra: waiting for {who}, which installs the packages\n"
    halfway.process.communicate()
    assert (halfway.process.returncode, second.returncode) == (0, 0)


def test_an_installation_that_is_killed_leaves_nothing_that_counts(
    halfway: Halfway, quick: Image, tmp_path: Path
) -> None:
    for each in processes_of(tmp_path):
        each.kill()
    assert halfway.process.wait() == -signal.SIGKILL
    (left,) = halfway.mount.environments()
    halfway.index.open.set()

    ended = halfway.mount.run(quick, *SHOW)

    assert (ended.out, sorts(ended)) == ("1.0\n", ["installing", "installed"]), ended.err
    (folder,) = halfway.mount.environments()
    assert folder != left


def test_an_installation_that_is_ended_ends_its_installer_and_removes_what_it_made(
    halfway: Halfway, tmp_path: Path
) -> None:
    halfway.process.terminate()
    assert halfway.process.wait() == 128 + signal.SIGTERM
    assert processes_of(tmp_path) == []
    assert halfway.mount.environments() == []


def test_what_other_machines_left_unfinished_is_removed_when_it_is_old(
    quick: Image, wanted: Wanted
) -> None:
    mount = wanted(["basalt==1.0"])
    old, young, whole = (mount.cache / f"{'0' * 16}.other.{name}" for name in ("a", "b", "c"))
    for each in (old, young, whole):
        (each / "bin").mkdir(parents=True)
    (whole / package_cache.WHOLE).touch()
    long_ago = time.time() - 3 * package_installation.LIMIT
    for each in (old, whole):
        os.utime(each, (long_ago, long_ago))
    assert mount.run(quick, "python", "-c", "import basalt").code == 0
    assert [each.exists() for each in (old, young, whole)] == [False, True, True]


@pytest.mark.soak
def test_an_environment_that_was_removed_by_hand_is_made_anew(quick: Image, wanted: Wanted) -> None:
    mount = wanted(["basalt==1.0"])
    for _ in range(2):
        ended = mount.run(quick, "python", "-c", "import basalt")
        assert sorts(ended) == ["installing", "installed"], ended.err
        (folder,) = mount.environments()
        shutil.rmtree(folder)


def test_a_cache_in_which_nothing_can_be_written_is_said(quick: Image, wanted: Wanted) -> None:
    mount = wanted(["basalt==1.0"])
    mount.cache.write_text("no folder")
    ended = mount.run(quick, "python", "-c", "1")
    assert ended.code == 1
    (said,) = ended.ours()
    assert said.startswith(
        f"the packages cannot be installed: File exists in {mount.cache} as user {os.getuid()}; let that "
        "user write in the folder that trainer:packages names"
    )


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A lock that is held, as by a machine that is gone, without a sign of life."""
    path = tmp_path / "key.lock"
    path.write_text("gone 7\n")
    return path


def test_a_holder_without_a_sign_of_life_is_waited_for_no_longer(
    held: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(package_cache, "SILENCE", 0.5)
    monkeypatch.setattr(package_cache, "PAUSE", 0.1)
    with held.open("r+") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with package_cache.turn(held.parent, "key"):
            assert held.read_text().splitlines()[0] == f"{os.uname().nodename} 1"
    assert capsys.readouterr().err.splitlines() == [
        "trainer-infra: waiting for gone, which installs the packages",
        "trainer-infra: it gave no sign of life for 0.5 s: installing here",
    ]
