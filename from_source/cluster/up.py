"""`make cluster`: a real Kubernetes of one node, with JobSet, on this machine.

`ensure` makes it, repairs it or finds that there is nothing to do; tests and benches call it too.
Where KUBECONFIG names a cluster of the user's, that one is used and nothing is made. `down.py` takes
all of it away.
"""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import (
    build,
    busybox,
    components,
    credentials,
    daemon,
    down,
    jobset,
    kube_apiserver,
    kubectl,
    live,
    packages,
    storage,
)
from from_source.cluster.client import Client, Unreachable
from from_source.cluster.waiting import wait_until
from trainer_infra.errors import NotAvailable, TrainerInfraError

_SERVES_WITHIN: Final = 180.0
"""Seconds until the node is ready and JobSet available, once all components run."""

_STANDS_WITHIN: Final = 5.0
"""Seconds in which the kernel stops every thread of a process."""

_INSTALLED: Final = "installed"
"""File that says that JobSet and the storage class were installed, and worked."""


@dataclass(frozen=True, slots=True)
class Handle:
    """One component of a running cluster, for tests of what happens without it."""

    name: str
    """One of `components.ORDER`."""

    def stop(self) -> None:
        """End it, and return when it has ended."""
        daemon.stop(self.name)

    def kill(self) -> None:
        """End it without a word, and return when it has ended."""
        daemon.signalled(self.name, signal.SIGKILL)
        wait_until(lambda: not daemon.alive(self.name), _STANDS_WITHIN)

    def start(self) -> None:
        """Start it again, and return when it answers."""
        components.start(self.name)

    def pause(self) -> None:
        """Let it stand still, with its connections open; it does when this returns."""
        daemon.signalled(self.name, signal.SIGSTOP)
        wait_until(lambda: not daemon.runs(self.name), _STANDS_WITHIN)

    def resume(self) -> None:
        """Let it go on."""
        daemon.signalled(self.name, signal.SIGCONT)


def component(name: str) -> Handle:
    """One component of the running cluster.

    Raises:
        KeyError: There is no such component.
    """
    if name not in components.ORDER:
        raise KeyError(name)
    return Handle(name)


def ensure() -> Path:
    """The kubeconfig of a cluster that serves JobSet: the user's, or ours, made where needed.

    Raises:
        NotAvailable: There is none and it cannot be made.
    """
    theirs = users_kubeconfig()
    if theirs:
        return _checked(theirs)
    if os.geteuid() != 0:
        raise NotAvailable(
            "a cluster on this machine needs root, for namespaces and mounts; "
            "run as root, or set KUBECONFIG to a cluster of yours"
        )
    with build.alone(live.name()):
        if not is_whole():
            _make_whole()
    return live.kubeconfig()


def users_kubeconfig() -> str:
    """What KUBECONFIG names, unless that is the cluster made here; empty when it names none."""
    theirs = os.environ.get("KUBECONFIG", "")
    return "" if theirs == str(live.kubeconfig()) else theirs


def is_whole() -> bool:
    """Whether every process lives, the node is ready, and JobSet and the volumes work."""
    all_run = all(map(daemon.runs, components.ORDER))
    return all_run and (live.folder() / _INSTALLED).exists() and _serves()


def _checked(kubeconfig: str) -> Path:
    """A user's cluster; only JobSet is asked for."""
    try:
        kubectl.run("get", "--raw", "/apis/jobset.x-k8s.io/v1alpha2")
    except NotAvailable as error:
        raise NotAvailable(
            f"KUBECONFIG names a cluster ({kubeconfig}) that does not serve JobSet: {error}; "
            "install JobSet there, or unset KUBECONFIG to have a cluster made"
        ) from error
    return Path(kubeconfig)


def _make_whole() -> None:
    """Start what is missing; what cannot be repaired so is made anew."""
    packages.install()
    components.build_all()
    if not daemon.alive(daemon.HOLDER):
        down.remove()
    is_new = not live.folder().exists()
    try:
        _bring_up()
    except NotAvailable as error:
        if is_new:
            raise
        print(f"cluster: it cannot be repaired ({error}); making it anew ...", flush=True)
        down.remove()
        _bring_up()


def _bring_up() -> None:
    for name in components.ORDER:
        components.start(name)
    kubeconfig = credentials.kubeconfig(credentials.ADMIN, f"https://127.0.0.1:{components.port()}")
    busybox.loaded()
    storage.install(kubeconfig)
    if live.has_jobset():
        jobset.install(kubeconfig)
    _wait_until_serving()
    (live.folder() / _INSTALLED).touch()


def _wait_until_serving() -> None:
    """Return when the cluster can run a JobSet.

    Raises:
        NotAvailable: A component ended, or it takes too long.
    """

    def ended_or_serves() -> bool:
        return not all(map(daemon.alive, components.ORDER)) or _serves()

    in_time = wait_until(ended_or_serves, _SERVES_WITHIN)
    ended = [name for name in components.ORDER if not daemon.alive(name)]
    if ended or not in_time:
        why = f"{', '.join(ended)} ended" if ended else "its node or JobSet is not ready"
        raise NotAvailable(
            f"the cluster does not serve: {why}; logs are in {live.folder() / 'logs'}"
        )
    if live.has_jobset():
        with Client(kube_apiserver.outside(components.port())) as client:
            jobset.wait_until_served(client)


def _serves() -> bool:
    """Whether the API server answers, the node is ready and both deployments are available."""
    waited = {f"/api/v1/nodes/{live.NODE}": "Ready", storage.DEPLOYMENT: "Available"}
    if live.has_jobset():
        waited[jobset.DEPLOYMENT] = "Available"
    try:
        with Client(kube_apiserver.outside(components.port())) as client:
            return client.get("/readyz").status == 200 and all(  # noqa: PLR2004  HTTP's OK
                _is_true(client.get(path).body, waited[path]) for path in waited
            )
    except Unreachable:
        return False


def _is_true(item: dict[str, Any], condition: str) -> bool:
    status = item.get("status")
    conditions = status.get("conditions", []) if isinstance(status, dict) else []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def main() -> int:
    """Make or repair the cluster and say how to reach it; the exit code."""
    started = time.monotonic()
    try:
        kubeconfig = ensure()
        tool = kubectl.program()
    except TrainerInfraError as error:
        print(error, file=sys.stderr)
        return 1
    whose = "the one that KUBECONFIG names" if users_kubeconfig() else "made here"
    print(f"cluster: ready after {time.monotonic() - started:.1f} s, {whose}; kubectl is {tool}")
    print(f"export KUBECONFIG={kubeconfig}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
