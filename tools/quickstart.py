"""Run the quickstart's Pulumi program with everything set: `python tools/quickstart.py COMMAND`.

COMMAND is any command of the Pulumi CLI, followed by its options. Each framework has a stack of its
own, in a file backend inside the state folder; an unchanged program trains nothing again.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from trainer_infra import home_folders

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "stacks" / "quickstart"


def main() -> None:
    """Run one command of the CLI on the quickstart's stack, and say what came out of `up`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=["jax", "torch"], default="jax")
    parser.add_argument("command", help="up, preview, refresh, destroy, or another of the CLI's")
    arguments, options = parser.parse_known_args()
    # The terminal sends Ctrl-C to the CLI too, which knows what to do with it.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    stack = arguments.framework
    env = _environment()
    if not (_state() / ".pulumi" / "stacks" / "quickstart" / f"{stack}.json").exists():
        selected = ["pulumi", "stack", "select", "--create", stack]
        subprocess.run(selected, cwd=PROGRAM, env=env, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.command == "preview":
            options += ["--config-file", _copy_of_settings(stack, Path(scratch))]
        command = ["pulumi", arguments.command, *_always(arguments.command, stack), *options]
        done = subprocess.run([*command, "--stack", stack], cwd=PROGRAM, env=env, check=False)
    if done.returncode == 0 and arguments.command == "up":
        _show(stack, env)
    sys.exit(done.returncode)


def _state() -> Path:
    """Where the file backend keeps the quickstart's stacks."""
    return home_folders.state_home() / "pulumi"


def _environment() -> dict[str, str]:
    """Ours, with the CLI of `.venv` first, and a backend that needs no account."""
    _state().mkdir(parents=True, exist_ok=True)
    env = {
        **os.environ,
        "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "PULUMI_BACKEND_URL": f"file://{_state()}",
        "PULUMI_SKIP_UPDATE_CHECK": "1",
    }
    if "PULUMI_CONFIG_PASSPHRASE_FILE" not in env:
        env.setdefault("PULUMI_CONFIG_PASSPHRASE", "")
    return env


def _always(command: str, stack: str) -> list[str]:
    """The options that a command always gets here."""
    config = ["--config", "trainer:target=local", "--config", f"quickstart:framework={stack}"]
    return {
        "up": ["--yes", "--skip-preview", *config],
        "preview": config,
        "refresh": ["--yes", "--skip-preview"],
        "destroy": ["--yes", "--skip-preview"],
    }.get(command, [])


def _copy_of_settings(stack: str, scratch: Path) -> str:
    """The stack's settings for a preview, which would keep the `--config` it was given in them."""
    copy = scratch / f"Pulumi.{stack}.yaml"
    with suppress(FileNotFoundError):
        shutil.copy(PROGRAM / copy.name, copy)
    return str(copy)


def _show(stack: str, env: dict[str, str]) -> None:
    """The result, and what to type next."""
    asked = ["pulumi", "stack", "output", "--json", "--stack", stack]
    answer = subprocess.run(asked, cwd=PROGRAM, env=env, check=True, capture_output=True)
    outputs = json.loads(answer.stdout)
    again = "" if stack == "jax" else f" --framework {stack}"
    print(f"\naccuracy on held-out digits: {outputs['accuracy']}")
    print(f"what would change now:       .venv/bin/python tools/quickstart.py preview{again}")
    print(f"what it printed:             .venv/bin/trainer-infra logs {outputs['run']}")
    print(f"remove it:                   make destroy{f' FRAMEWORK={stack}' if again else ''}")


if __name__ == "__main__":
    main()
