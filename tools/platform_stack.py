"""Run the platform's Pulumi program with everything set: `python -m tools.platform_stack COMMAND`.

COMMAND is any command of the Pulumi CLI, followed by its options. The cluster is the one that
KUBECONFIG names; else one of one node is made here, bare, with the controllers' images made from
their modules. State is kept in a file backend inside the state folder.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import (
    controller_image,
    coscheduling,
    helm,
    images,
    jobset,
    kubectl,
    kueue,
    live,
    lws,
    package_image,
    trainer,
    up,
    volcano,
)
from trainer_infra import home_folders
from trainer_infra.errors import TrainerInfraError

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = ROOT / "stacks" / "platform"
CLUSTER: Final = "platform"
"""Name of the cluster that is made here."""
JOBSET_IMAGE: Final = "registry.k8s.io/jobset/jobset:v0.12.0"
"""The published name; the module's own manifests name a staging one."""


def main() -> int:
    """Run one command of the CLI on the platform's stack; its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", default="dev", help="a file stacks/platform/Pulumi.STACK.yaml")
    parser.add_argument("--allow-destroy", action="store_true", help="with what is left on it")
    parser.add_argument("command", help="up, preview, refresh, destroy, or another of the CLI's")
    arguments, options = parser.parse_known_args()
    try:
        env = environment(cluster(arguments.stack))
    except TrainerInfraError as error:
        print(error, file=sys.stderr)
        return 1
    settings = settings_copy(arguments.stack, env, allow_destroy=arguments.allow_destroy)
    always = {
        "up": ["--yes", "--skip-preview"],
        "destroy": ["--yes", "--skip-preview"],
        "refresh": ["--yes", "--skip-preview"],
    }.get(arguments.command, [])
    # `cancel`, of a stack that a killed command has locked, wants no settings.
    named = [] if arguments.command == "cancel" else ["--config-file", str(settings)]
    where = ["--stack", arguments.stack, *named]
    return _pulumi([arguments.command, *always, *where, *options], env).returncode


def cluster(stack: str) -> Path:
    """The kubeconfig of the cluster: the user's, or ours, made where needed, with the stack's images.

    Raises:
        NotAvailable: There is none and it cannot be made.
    """
    if up.users_kubeconfig():
        return up.ensure()
    os.environ.setdefault(live.NAME, CLUSTER)
    os.environ[live.BARE] = "1"
    made = up.ensure()
    load_images(stack)
    return made


def load_images(stack: str) -> None:
    """Load the images of the controllers that a stack installs into the cluster that runs.

    Raises:
        NotAvailable: One of them cannot be built here.
    """
    published = jobset.manifests()
    images.also_named(
        images.loaded(jobset.image(published), jobset.archive(published)), JOBSET_IMAGE
    )
    platform = _settings(stack)["config"].get("platform:trainer", {})
    package_image.loaded(controller_image.IMAGE)
    archives = {kueue.IMAGE: kueue.archive()}
    if platform.get("trainer", {}).get("implementation") == "upstream":
        archives[trainer.IMAGE] = trainer.archive()
    if platform.get("data_cache"):
        archives[lws.IMAGE] = lws.archive()
    schedulers = {platform.get("gang"), platform.get("queueing")}
    if "coscheduling" in schedulers:
        archives |= coscheduling.archives()
    if "volcano" in schedulers:
        archives |= volcano.archives()
    for name, archive in archives.items():
        images.loaded(name, archive)


def environment(kubeconfig: Path) -> dict[str, str]:
    """Ours, with the CLI of `.venv`, kubectl and helm, and a backend that needs no account."""
    _state().mkdir(parents=True, exist_ok=True)
    programs = (ROOT / ".venv" / "bin", Path(kubectl.program()).parent, Path(helm.program()).parent)
    env = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "PATH": os.pathsep.join([*map(str, programs), os.environ.get("PATH", "")]),
        "PULUMI_BACKEND_URL": f"file://{_state()}",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
    }
    if "PULUMI_CONFIG_PASSPHRASE_FILE" not in env:
        env.setdefault("PULUMI_CONFIG_PASSPHRASE", "")
    return env


def settings_copy(stack: str, env: Mapping[str, str], *, allow_destroy: bool) -> Path:
    """The stack's settings in the state folder, where the CLI may write; makes the stack if need be."""
    folder = _state() / "platform"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"Pulumi.{stack}.yaml"
    if not (_state() / ".pulumi" / "stacks" / "platform" / f"{stack}.json").exists():
        (folder / "Pulumi.yaml").write_text("name: platform\nruntime: python\n", "utf-8")
        copy.unlink(missing_ok=True)
        _pulumi(["stack", "init", "--stack", stack], env, folder).check_returncode()
    settings = _settings(stack)
    if allow_destroy:
        settings["config"]["trainer:allowDestroy"] = True
    # What the CLI has written, by which it knows its passphrase again.
    kept = yaml.safe_load(copy.read_text("utf-8"))
    copy.write_text(yaml.safe_dump({**kept, **settings}), "utf-8")
    return copy


def _settings(stack: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((PROGRAM / f"Pulumi.{stack}.yaml").read_text("utf-8"))
    return found


def _state() -> Path:
    return home_folders.state_home() / "pulumi"


def _pulumi(
    arguments: list[str], env: Mapping[str, str], folder: Path = PROGRAM
) -> "subprocess.CompletedProcess[bytes]":
    program = shutil.which("pulumi", path=env["PATH"]) or "pulumi"
    return subprocess.run([program, *arguments], cwd=folder, env=env, check=False)


if __name__ == "__main__":
    sys.exit(main())
