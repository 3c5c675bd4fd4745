"""`make cluster-down`: nothing of the cluster stays behind.

Before it makes anew what cannot be repaired, up.py does it too. Every process of the cluster is
in its control group; with the last of them its namespaces end, and with these every mount, link,
route and rule. What is built once stays in the cache.
"""

import shutil
import sys
from pathlib import Path

from from_source.cluster import build, cgroup, live, namespaces
from from_source.cluster.waiting import wait_until
from trainer_infra.errors import NotAvailable, TrainerInfraError

_ENDS_WITHIN = 30.0
"""Seconds until killed processes are gone."""


def remove() -> None:
    """End every process and remove every file; also of a cluster that was made by half.

    Raises:
        NotAvailable: A process does not end.
    """
    left = cgroup.kill(_ENDS_WITHIN)
    if left or not wait_until(cgroup.removed, _ENDS_WITHIN):
        raise NotAvailable(
            f"processes {sorted(left)} of the cluster's group {cgroup.name()} do not end; "
            "run `make cluster-down` again, or restart the machine"
        )
    if live.folder().exists():
        shutil.rmtree(live.folder())
    for folder in namespaces.FOLDERS:
        _remove_empty(Path(folder))


def _remove_empty(folder: Path) -> None:
    """Remove a folder that held only a mount, unless another cluster has mounted something there.

    The kernel would let us remove it, and take away that cluster's mount with it.
    """
    if not folder.is_dir() or any(folder.iterdir()) or _is_mounted_somewhere(folder):
        return
    folder.rmdir()


def _is_mounted_somewhere(folder: Path) -> bool:
    for mounts in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if f" {folder} " in mounts.read_text("utf-8", "replace"):
                return True
        except OSError:
            continue
    return False


def main() -> int:
    """Take the cluster down; the exit code."""
    try:
        with build.alone(live.name()):
            remove()
    except TrainerInfraError as error:
        print(error, file=sys.stderr)
        return 1
    print("cluster: nothing of it runs any more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
