"""An image's Python and the code mount of a job with packages, on real interpreters of this machine."""

import io
import os
import socket
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.local.package_index import Package, wheel_folder
from trainer_infra.trainers import package_mounts
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

AMBER = Package("amber", version="1.0")
WHEELS = (
    AMBER,
    Package("amber", version="2.0"),
    Package("basalt", needs=("amber>=1",)),
    Package("coral", needs=("basalt", "amber")),
)
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Image:
    """A Python as an image has it, and what the image sets."""

    python: Path
    programs: Path
    """A folder on PATH."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{self.python.parent}:{SYSTEM}",
            "HOME": str(self.programs),
            "PIP_RETRIES": "1",
            **self.env,
        }

    def program(self, name: str, text: str) -> str:
        """A console script that the image has, with the image's own interpreter."""
        file = self.programs / name
        file.write_text(f"#!{self.python}\n{text}\n")
        file.chmod(0o755)
        return name


@dataclass(frozen=True)
class Mount:
    """The folder of our mounts in a pod."""

    folder: Path

    @property
    def cache(self) -> Path:
        return self.folder / "packages"

    def environments(self) -> list[Path]:
        return [each for each in self.cache.iterdir() if each.is_dir()]

    def start(self, image: Image, *command: str, **env: str) -> subprocess.Popen[str]:
        step = [str(image.python), str(self.folder / "code" / package_mounts.INSTALLING)]
        return subprocess.Popen(
            [*step, *command],
            env={**image.variables, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, image: Image, *command: str, **env: str) -> "Ended":
        with self.start(image, *command, **env) as process:
            out, err = process.communicate()
        return Ended(process.returncode, out, err)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def ours(self) -> list[str]:
        """Our lines in the log."""
        return [
            line.removeprefix("trainer-infra: ")
            for line in self.err.splitlines()
            if line.startswith("trainer-infra: ")
        ]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return wheel_folder(tmp_path / "wheels", WHEELS)


Mounted = Callable[[CustomTrainer], Mount]


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    """Lay out what a job with a trainer mounts, as a kubelet does: links to a dated folder."""

    def mounts(trainer: CustomTrainer) -> Mount:
        code = tmp_path / "opt" / "code"
        dated = code / f"..{len(list(tmp_path.glob('opt/code/..2*')))}2026"
        for path, text in package_mounts.mounted_files(trainer.pack().code).items():
            file = dated / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for top in dated.iterdir():
            (code / top.name).unlink(missing_ok=True)
            (code / top.name).symlink_to(f"{dated.name}/{top.name}")
        return Mount(tmp_path / "opt")

    return mounts


@pytest.fixture
def wanted(mounted: Mounted, tmp_path: Path, wheels: Path) -> Callable[..., Mount]:
    """The mount of a job with these packages from the wheels, or from an index."""
    (tmp_path / "train.py").write_text("print('trained')\n")

    def mounts(packages: Sequence[str] | Path, index: str = "") -> Mount:
        origin = {"pip_index_urls": [index]} if index else {"wheel_house": str(wheels)}
        file = str(tmp_path / "train.py")
        return mounted(CustomTrainer(file, packages=packages, **origin))

    return mounts


def plain_python() -> Path:
    """The Python below the tests' virtual environment."""
    return Path(os.path.realpath(sys.executable))


def other_python(version: str) -> Path:
    """Another interpreter of this machine, which the test skips without."""
    # pyenv has stand-ins on PATH, which want to know the version.
    command = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    try:
        said = subprocess.check_output(command, env={**os.environ, "PYENV_VERSION": version})
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip(f"there is no Python {version} on this machine")
    return Path(said.decode().strip())


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


@pytest.fixture
def plain(programs: Path, tmp_path: Path) -> Image:
    """An image with amber 1.0 among what its Python finds."""
    folder = tmp_path / "of-image"
    unpack_wheel(AMBER, folder)
    return Image(plain_python(), programs, {"PYTHONPATH": str(folder)})


@pytest.fixture
def nested(programs: Path, tmp_path: Path) -> Image:
    """An image whose Python is a virtual environment with amber 1.0, and no pip."""
    folder = tmp_path / "image"
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    unpack_wheel(AMBER, packages)
    return Image(folder / "bin" / "python", programs)


def unpack_wheel(package: Package, folder: Path) -> None:
    """Install a package as an installer does that is done with deciding."""
    with zipfile.ZipFile(io.BytesIO(package.wheel())) as wheel:
        wheel.extractall(folder)


@pytest.fixture
def uv(programs: Path) -> Path:
    """uv on the image's PATH."""
    (programs / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    return programs


@pytest.fixture
def quick(plain: Image, uv: Path) -> Image:
    """That image with uv, which takes a third of pip's time: for what is ours whoever installs."""
    del uv
    return replace(plain, env={**plain.env, "TRAINER_INFRA_INSTALLER": "uv"})


@pytest.fixture
def silent() -> Iterator[str]:
    """An index that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"
