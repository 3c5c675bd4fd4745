"""The image that training pods of the tests run in: Debian with Python 3.11, OpenMPI and SSH.

The published images of the runtimes are gigabytes on registries that a closed network cannot reach;
this one is made once from Debian's packages, and the frameworks are mounted into it (python.py).
For MPI it is what the catalog's runtimes expect of an image (trainer_infra/catalog/mpi.py): user
1000 with its SSH server's settings, port 2222.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Final

from from_source.cluster import build, images
from trainer_infra.catalog import mpi
from trainer_infra.errors import NotAvailable

NAME: Final = "trainer-infra.local/base:1"
"""What pods ask for."""

SUITE: Final = "bookworm"
"""Debian 12, whose Python is 3.11."""

PACKAGES: Final = (
    "ca-certificates",
    "iproute2",
    "libgomp1",
    "openmpi-bin",
    "openssh-client",
    "openssh-server",
    "python3",
    "python3-pip",
    "python3-venv",
)
"""What is there beside Debian's smallest system."""

MPI_USER: Final = Path(mpi.HOME).name

_TO_ANY_NODE: Final = f"""\
Port {mpi.SSH_PORT}
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
"""Pods are new hosts at each run, and their keys come from a Secret that is made at create."""

_SERVER: Final = f"""\
Port {mpi.SSH_PORT}
HostKey {mpi.HOME}/.ssh/id_rsa
AuthorizedKeysFile {mpi.HOME}/.ssh/authorized_keys
PidFile {mpi.HOME}/sshd.pid
StrictModes no
UsePAM no
"""
"""A mounted Secret is its group's to read, which strict modes refuse."""

_FILES: Final = {
    "etc/ssh/ssh_config.d/any-node.conf": _TO_ANY_NODE,
    f"{mpi.HOME[1:]}/.sshd_config": _SERVER,
}

_LINKS: Final = {"usr/local/bin/python": "/usr/bin/python3"}
"""Commands of the runtimes say `python`."""

_MPI_LIBRARY: Final = "libmpi.so.40"
"""MLX looks for it without the number, which is a link of Debian's development package."""

CONFIG: Final = {
    "Cmd": ["python"],
    "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
}
"""Of the image, for others over it too."""

_TOOLS: Final = ("debootstrap", "debian-archive-keyring")
"""Debian packages of the machine that makes the image."""

_UNUSED: Final = (
    "etc/resolv.conf",
    "etc/ssh/ssh_host_*",
    "usr/share/doc/*",
    "usr/share/info/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "var/cache/apt/*",
    "var/lib/apt/lists/*",
    "var/log/*.log",
)
"""What no pod reads, and keys that no image may hold."""


def loaded() -> str:
    """The image's name, once it is in the cluster of `make cluster`; made when it was never made.

    Raises:
        NotAvailable: There is no such cluster, or the image cannot be made here.
    """
    return images.loaded(NAME, archive())


def archive() -> Path:
    """The image as a file, made in a minute or two where it is missing.

    Raises:
        NotAvailable: Not root, no Debian packages to be had, or debootstrap failed.
    """
    file = build.cache() / f"base-{_key()}" / "image.tar"
    if not file.exists():
        with build.alone("base-image"):
            if not file.exists():
                _make(file)
    return file


def layer() -> Path:
    """The files of the image as a tar, for images that have something over them."""
    whole = archive()
    file = whole.with_name("layer.tar")
    if not file.exists():
        with build.alone("base-layer"), tarfile.open(whole) as images_files:
            (name,) = json.load(_member(images_files, "manifest.json"))[0]["Layers"]
            partial = file.with_suffix(".partial")
            with partial.open("wb") as output:
                shutil.copyfileobj(_member(images_files, name), output)
            partial.rename(file)
    return file


def _member(whole: tarfile.TarFile, name: str) -> IO[bytes]:
    found = whole.extractfile(name)
    if found is None:
        raise NotAvailable(f"the base image is no image archive: {name} is not a file")
    return found


def _key() -> str:
    parts = (NAME, SUITE, PACKAGES, _FILES, _LINKS, _MPI_LIBRARY, CONFIG, _UNUSED)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _make(file: Path) -> None:
    """Make the archive; what an interrupted attempt left is thrown away."""
    if os.geteuid() != 0:
        raise NotAvailable("the image of training pods is made by debootstrap, which needs root")
    shutil.rmtree(file.parent, ignore_errors=True)
    file.parent.mkdir()
    root, layer, log = (file.parent / name for name in ("root", "layer.tar", "making.log"))
    if shutil.which("debootstrap") is None:
        _install_tools(log)
    print(f"cluster: making image {NAME} from Debian packages (once, minutes) ...", flush=True)
    suite = ("--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root), *_mirror())
    # In a mount namespace of its own: killed half way, it leaves no /proc below what we remove.
    private = ("unshare", "--mount", "--propagation", "private")
    _run((*private, "debootstrap", *suite), log, _proxies())
    _set_up(root, log)
    _run(
        ("tar", "--numeric-owner", "--exclude=./dev/*", "-cf", str(layer), "-C", str(root), "."),
        log,
    )
    images.archive(file, NAME, layer, config=CONFIG)
    shutil.rmtree(root)
    layer.unlink()


def _install_tools(log: Path) -> None:
    if shutil.which("apt-get") is None:
        raise NotAvailable(
            "the image of training pods is made by debootstrap, and there is neither it nor apt-get "
            "to install it with; install debootstrap"
        )
    print(f"cluster: installing Debian packages {' '.join(_TOOLS)} ...", flush=True)
    waiting = ("-o", "DPkg::Lock::Timeout=300")
    _run(("apt-get", "update", *waiting), log)
    _run(("apt-get", "install", "--yes", "--no-install-recommends", *waiting, *_TOOLS), log)


def _set_up(root: Path, log: Path) -> None:
    """All that is not from a package."""
    _run(("chroot", str(root), "useradd", f"--uid={mpi.USER}", "--create-home", MPI_USER), log)
    (root / "run" / "sshd").mkdir(mode=0o755)
    for path, text in _FILES.items():
        (root / path).write_text(text, "utf-8")
    for path, target in _LINKS.items():
        (root / path).symlink_to(target)
    for library in root.glob(f"usr/lib/*/{_MPI_LIBRARY}"):
        library.with_name("libmpi.so").symlink_to(_MPI_LIBRARY)
    for unused in (each for pattern in _UNUSED for each in root.glob(pattern)):
        _remove(unused)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _mirror() -> tuple[str, ...]:
    """Where this machine gets that Debian from; empty where it is not one, for the usual place."""
    form = "$(CODENAME) $(COMPONENT) $(SITE)"
    command = ("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    for line in _said(command):
        codename, component, site = line.split(" ", 2)
        if (codename, component) == (SUITE, "main"):
            return (site,)
    return ()


def _proxies() -> Mapping[str, str]:
    """Proxy settings of apt as variables, which debootstrap's downloads follow."""
    wanted = ("http_proxy", "Acquire::http::Proxy", "https_proxy", "Acquire::https::Proxy")
    assignments = shlex.split(" ".join(_said(("apt-config", "shell", *wanted))))
    return dict(each.split("=", 1) for each in assignments)


def _said(command: Iterable[str]) -> list[str]:
    """The lines that a program of apt prints; none where there is no apt."""
    try:
        done = subprocess.run(tuple(command), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines()


def _run(command: tuple[str, ...], log: Path, environment: Mapping[str, str] | None = None) -> None:
    ours = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", **(environment or {})}
    with log.open("a") as output:
        code = subprocess.run(
            command, env=ours, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        ).returncode
    if code != 0:
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-10:])
        raise NotAvailable(f"`{command[0]}` failed (exit code {code}, log {log}):\n{last}")
