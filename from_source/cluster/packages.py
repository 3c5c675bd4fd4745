"""Debian packages that a cluster needs: those missing are installed.

A program that is on PATH is taken as it is, wherever it came from.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from from_source.cluster import cni
from trainer_infra.errors import NotAvailable

_PROGRAMS: Final = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "mount": "mount",
}
"""Programs, and the package of each."""

_PLUGINS: Final = "containernetworking-plugins"
"""The package whose programs are not on PATH."""


def install() -> None:
    """Install what is missing, and start none of it.

    Raises:
        NotAvailable: We may not, or apt-get fails.
    """
    missing = sorted({_PROGRAMS[each] for each in _PROGRAMS if shutil.which(each) is None})
    if not any(Path(place, "ptp").exists() for place in cni.PLACES):
        missing.append(_PLUGINS)
    if missing:
        add(*missing)
        _leave_stopped("containerd" in missing)


def add(*missing: str) -> None:
    """Install packages.

    Raises:
        NotAvailable: We may not, or apt-get fails.
    """
    print(f"cluster: installing Debian packages {', '.join(missing)} ...", flush=True)
    _apt("update", "--quiet")
    _apt("install", "--yes", "--no-install-recommends", *missing)


def _apt(*arguments: str) -> None:
    if shutil.which("apt-get") is None:
        raise NotAvailable(
            "a cluster needs containerd, runc, nftables and the CNI plugins, and there is no "
            "apt-get to install them with; install them, or set KUBECONFIG to a cluster of yours"
        )
    done = subprocess.run(
        ["apt-get", *arguments],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NotAvailable(f"apt-get {' '.join(arguments)} failed: {done.stderr.strip()}")


def _leave_stopped(containerd: bool) -> None:
    """Debian starts the service of a new package where systemd runs; ours is another process."""
    if containerd and Path("/run/systemd/system").exists():
        subprocess.run(["systemctl", "disable", "--now", "containerd.service"], check=False)
