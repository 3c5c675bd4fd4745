"""The scripts of a Flux job, run by bash in a folder of the test's own.

`flux`, `hostname` and `sleep` are programs on PATH that write down how they were called.
"""

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.render.flux_jobs import pod, rendered, runtime, script
from trainer_infra.render.behaviour import REFERENCE

FOLDERS = re.compile(r"(?<![\w}])/(?:mnt/flux|opt/views|opt/software|curve|tmp/fluxout)\b")
"""What the pod mounts or its image has; each is a folder of the test's instead."""

# Writes down its arguments, prints an R document, and fails as often as a file says.
FLUX = """#!{python}
import json, os, sys
calls, left = {calls!r}, {failures!r}
with open(calls, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "R":
    print("R of", sys.argv[3])
elif os.path.exists(left):
    count = int(open(left).read())
    if count:
        open(left, "w").write(str(count - 1))
        sys.exit(3)
"""


@dataclass
class Pod:
    """One pod of the job: the folders that it mounts, and what it called."""

    root: Path
    objects: dict[str, Any]

    def text(self, name: str) -> str:
        return FOLDERS.sub(lambda match: f"{self.root}{match[0]}", script(self.objects, name))

    def bash(self, name: str, *arguments: str, host: str = "tj-node-0-0") -> Any:
        program = self.root / name
        program.write_text(self.text(name))
        self.tool("hostname", f"echo {host}")
        command = ["bash", str(program), *arguments]
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "HOME": str(self.root)}
        return subprocess.run(
            command,
            env=env,
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def tool(self, name: str, text: str) -> None:
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def calls(self) -> list[list[str]]:
        log = self.root / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Pod]:
    def pod_of(trainer: dict[str, Any] | None = None, on: Any = None, **options: Any) -> Pod:
        made = Pod(tmp_path, rendered(on or runtime(), trainer, **options))
        values = {
            "python": sys.executable,
            "calls": str(tmp_path / "calls"),
            "failures": str(tmp_path / "failures"),
        }
        made.tool("flux", FLUX.format(**values))
        made.tool("sleep", f'echo "$@" >>{tmp_path}/slept')
        view = made.at("/opt/views/._view/abcdef")
        (view / "bin").mkdir(parents=True)
        (view / "lib" / "python3.11").mkdir(parents=True)
        (view / "bin" / "python3.11").write_text("#!/bin/sh\n")
        (view / "bin" / "python3.11").chmod(0o755)
        (view / "bin" / "python3").symlink_to("/nowhere")
        software = made.at("/opt/software/flux")
        software.mkdir(parents=True)
        (software / "lib").write_text("x")
        (software / "link").symlink_to("lib")
        curve = made.at("/curve/curve.cert")
        curve.parent.mkdir()
        curve.write_text("certificate")
        curve.chmod(0o444)
        return made

    return pod_of


@pytest.fixture
def started(make: Callable[..., Pod]) -> Callable[..., Pod]:
    """A pod whose init container has run."""

    def pod_of(*arguments: Any, **options: Any) -> Pod:
        made = make(*arguments, **options)
        done = made.bash("init.sh")
        assert done.returncode == 0, done.stderr
        return made

    return pod_of


def command(made: Pod) -> str:
    """What the container gives the entrypoint."""
    text: str = pod(made.objects)["containers"][0]["command"][2]
    return text


def run_by(made: Pod) -> list[str]:
    """The command line that Flux was given to run, from `run` on."""
    last = made.calls()[-1]
    return last[last.index("run") :]


@pytest.mark.parametrize("name", ["init.sh", "entrypoint.sh"])
def test_bash_can_read_the_scripts(make: Callable[..., Pod], name: str) -> None:
    made = make({"env": [{"name": "FLUX_QUEUE_POLICY", "value": 'it\'s "x" $HOME\nEOT'}]})
    done = subprocess.run(["bash", "-n"], input=made.text(name), text=True, check=False)
    assert done.returncode == 0
    assert made.text(name).startswith("#!/bin/bash\n")


def test_the_init_container_writes_the_brokers_configuration(started: Callable[..., Pod]) -> None:
    env = [
        {"name": "FLUX_NETWORK_DEVICE", "value": "ib0"},
        {"name": "FLUX_QUEUE_POLICY", "value": 'it\'s "x" $HOME'},
    ]
    made = started({"numNodes": 3, "env": env})
    config = f"{made.root}/mnt/flux/config"
    broker = made.at("/mnt/flux/config/etc/flux/config/broker.toml")
    assert tomllib.loads(broker.read_text()) == {
        "access": {"allow-guest-user": True, "allow-root-owner": True},
        "resource": {"path": f"{config}/etc/flux/system/R"},
        "bootstrap": {
            "curve_cert": f"{config}/etc/curve/curve.cert",
            "default_port": 8050,
            "default_bind": "tcp://ib0:%p",
            "default_connect": "tcp://%h.tj.n.svc.cluster.local:%p",
            "hosts": [{"host": "tj-node-0-[0-2]"}],
        },
        "archive": {
            "dbpath": f"{config}/var/lib/flux/job-archive.sqlite",
            "period": "1m",
            "busytimeout": "50s",
        },
        "sched-fluxion-qmanager": {"queue-policy": 'it\'s "x" $HOME'},
    }
    hosts = made.at("/mnt/flux/config/etc/flux/system/hostlist")
    assert hosts.read_text() == "tj-node-0-[0-2]\n"


def test_the_init_container_copies_flux_with_its_links(started: Callable[..., Pod]) -> None:
    made = started()
    assert made.at("/mnt/flux/view/bin/python3.11").read_text() == "#!/bin/sh\n"
    assert made.at("/mnt/flux/software/flux/link").readlink() == Path("lib")


@pytest.mark.parametrize(("nodes", "hosts"), [(1, "tj-node-0-[0]"), (2, "tj-node-0-[0-1]")])
def test_the_first_node_runs_the_command_on_all(
    started: Callable[..., Pod], nodes: int, hosts: str
) -> None:
    made = started({"numNodes": nodes, "command": ["lmp", "a b", "$x", "it's"], "args": ["*"]})
    done = made.bash("entrypoint.sh", command(made))
    assert (done.returncode, done.stderr) == (0, "")

    encode, start = made.calls()
    assert encode == ["R", "encode", f"--hosts={hosts}", "--cores=0-1", "--gpu=0-3"]
    config = f"{made.root}/mnt/flux/config"
    assert made.at("/mnt/flux/config/etc/flux/system/R").read_text() == f"R of --hosts={hosts}\n"
    assert start[:4] == ["start", "-o", "--config", f"{config}/etc/flux/config"]
    assert f"-Sstatedir={config}/var/lib/flux" in start
    assert f"-Slocal-uri=local://{config}/run/flux/local" in start
    assert start[start.index("flux") :] == [
        *("flux", "run", "-N", str(nodes), "-n", str(2 * nodes), "-g", "2"),
        *("lmp", "a b", "$x", "it's", "*"),
    ]


def test_the_certificate_is_readable_by_its_owner_only(started: Callable[..., Pod]) -> None:
    made = started()
    made.bash("entrypoint.sh", "true")
    copied = made.at("/mnt/flux/config/etc/curve/curve.cert")
    assert copied.read_text() == "certificate"
    assert stat.S_IMODE(copied.stat().st_mode) == 0o600


def test_flux_comes_behind_the_images_own_programs(started: Callable[..., Pod]) -> None:
    made = started()
    seen = f'echo "$PATH|$PYTHONPATH|$FLUX_RC_EXTRA" >{made.root}/seen'
    made.tool("flux", f'[ "$1" = R ] || {seen}')
    assert made.bash("entrypoint.sh", "true").returncode == 0
    path, python_path, extra = (made.root / "seen").read_text().strip().split("|")
    view = f"{made.root}/mnt/flux/view"
    assert path.startswith(f"{made.root}/bin:")
    assert path.endswith(f":{view}/bin")
    assert python_path == f"{view}/lib/python3.11/site-packages"
    assert extra == f"{view}/etc/flux/rc1.d"
    assert Path(view, "bin", "python3").readlink() == Path(view, "bin", "python3.11")
    assert f'export PYTHONPATH="{python_path}"' in made.at("/mnt/flux/flux-view.sh").read_text()
    assert "sched-fluxion-qmanager" in made.at("/mnt/flux/load-fluxion.sh").read_text()


def test_a_failed_command_fails_the_pod_and_the_next_attempt_starts_again(
    started: Callable[..., Pod],
) -> None:
    made = started()
    (made.root / "failures").write_text("1")
    assert made.bash("entrypoint.sh", "false").returncode == 3
    assert made.bash("entrypoint.sh", "false").returncode == 0


def test_other_nodes_join_until_flux_ends_well(started: Callable[..., Pod]) -> None:
    made = started()
    (made.root / "failures").write_text("2")
    done = made.bash("entrypoint.sh", "true", host="tj-node-0-1")
    assert done.returncode == 0
    starts = [call for call in made.calls() if call[0] == "start"]
    assert len(starts) == 3
    assert all("run" not in call for call in starts)
    assert (made.root / "slept").read_text() == "15\n15\n"


def test_without_a_command_the_first_node_is_an_interactive_broker(
    started: Callable[..., Pod],
) -> None:
    made = started(on=runtime(container={"command": None, "args": None}))
    assert command(made) == ""
    assert made.bash("entrypoint.sh", command(made)).returncode == 0
    assert made.calls()[-1][:2] == ["broker", "--config-path"]


@pytest.mark.parametrize(
    ("per_node", "gpus", "flags"),
    [
        (2, 0, []),
        (2, 4, ["-g", "2"]),
        (4, 4, ["-g", "1"]),
        (2, 3, ["--exclusive"]),
        (8, 4, ["--exclusive"]),
    ],
)
def test_q18_a_task_has_its_share_of_the_nodes_gpus_or_sees_them_all(
    started: Callable[..., Pod], per_node: int, gpus: int, flags: list[str]
) -> None:
    trainer: dict[str, Any] = {"numNodes": 2, "numProcPerNode": per_node}
    limits = {"nvidia.com/gpu": gpus} if gpus else {"cpu": 1}
    made = started(trainer, on=runtime(container={"resources": {"limits": limits}}))
    made.bash("entrypoint.sh", "true")
    assert run_by(made) == ["run", "-N", "2", "-n", str(2 * per_node), *flags, "true"]


def test_like_the_reference_words_are_split_and_a_task_asks_for_all_gpus(
    started: Callable[..., Pod],
) -> None:
    made = started({"numNodes": 1, "args": ["a b", "it's"]}, behaviour=REFERENCE)
    left = pod(made.objects)["containers"][0]["args"]
    made.bash("entrypoint.sh", command(made), *left)
    assert run_by(made) == [
        *("run", "-N", "1", "-n", "2", "-g", "4"),
        *("lmp", "-v", "x", "2", "a", "b", "it's", "-in", "in", "file.txt"),
    ]
