"""The words of the Pulumi command that tests of stacks use, done by the engine for tests."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from tests.engine import program, state, values
from tests.engine.backend import StackFiles, backend_of
from tests.engine.deployment import Deployment
from tests.engine.monitor import Monitor
from tests.engine.planner import Options
from tests.engine.provider_host import ProviderHost
from tests.engine.screen import Screen
from tests.engine.state import Snapshot

PENDING: Final = """\
Attempting to deploy or update resources with {} pending operations from previous deployment.
{}
These resources are in an unknown state because the Pulumi CLI was interrupted while waiting for \
changes to these resources to complete. You should confirm whether or not the operations listed \
completed successfully by checking the state of the appropriate provider. For example, if you are \
using AWS, you can confirm using the AWS Console.

Once you have confirmed the status of the interrupted operations, you can repair your stack using \
`pulumi refresh` which will refresh the state from the provider you are using and clear the pending \
operations if there are any.

Note that `pulumi refresh` will need to be run interactively to clear pending CREATE operations."""


def main() -> int:
    """Do what the arguments say."""
    words = _arguments().parse_args()
    folder = _project(Path.cwd())
    stack = StackFiles(folder, words.stack, backend_of(os.environ))
    does = {"config": _config, "stack": _stack}.get(words.command, _operation)
    return does(stack, words)


def _project(folder: Path) -> Path:
    """The folder of the project that a folder is in."""
    return next(each for each in (folder, *folder.parents) if (each / "Pulumi.yaml").is_file())


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="engine", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("up", "preview", "refresh", "destroy"):
        operation = commands.add_parser(name, allow_abbrev=False)
        for flag in ("--yes", "--skip-preview", "--diff"):
            # What the CLI would ask, what it would do before, and how it would show it.
            operation.add_argument(flag, action="store_true")
        for flag in ("--expect-no-changes", "--continue-on-error"):
            operation.add_argument(flag, action="store_true")
        for flag in ("--target", "--replace"):
            operation.add_argument(flag, action="append", default=[])
        operation.add_argument("--parallel", type=int)
    settings = commands.add_parser("config", allow_abbrev=False)
    settings.add_argument("action", choices=("set", "rm"))
    settings.add_argument("--secret", action="store_true")
    settings.add_argument("key")
    settings.add_argument("value", nargs="?")
    stacks = commands.add_parser("stack", allow_abbrev=False)
    stacks.add_argument("action", choices=("init", "export", "import", "output"))
    stacks.add_argument("--json", action="store_true")
    stacks.add_argument("--file")
    for each in commands.choices.values():
        each.add_argument("--stack", required=True)
        each.add_argument("--non-interactive", action="store_true")
    return parser


def _config(stack: StackFiles, words: argparse.Namespace) -> int:
    stack.set(words.key, words.value if words.action == "set" else None, secret=words.secret)
    return 0


def _stack(stack: StackFiles, words: argparse.Namespace) -> int:
    if words.action == "init":
        stack.make()
        sys.stderr.write(f"Created stack '{stack.name}'\n")
    elif words.action == "import":
        given = json.loads((stack.folder / words.file).read_text())["deployment"]
        state.write_deployment(
            stack.state, given.get("resources", ()), given.get("pending_operations", ())
        )
    elif words.action == "export":
        exported = {"version": 3, "deployment": state.deployment(stack.state)}
        sys.stdout.write(json.dumps(exported, indent=4))
    else:
        sys.stdout.write(json.dumps(_outputs(stack)))
    return 0


def _outputs(stack: StackFiles) -> Any:
    resources = map(state.imported, state.deployment(stack.state).get("resources", ()))
    found = [each.outputs for each in resources if each.is_stack]
    return values.plain(found[0], values.SHOWN) if found else {}


def _operation(stack: StackFiles, words: argparse.Namespace) -> int:
    preview = words.command == "preview"
    options = Options(
        preview=preview,
        targets=tuple(words.target),
        replaced=tuple(words.replace),
        goes_on=words.continue_on_error,
    )
    config = stack.config()
    sys.path.insert(0, str(stack.program.resolve()))
    screen = Screen(preview=preview)
    snapshot = Snapshot(stack.state, writes=not preview)
    deployment = Deployment(
        snapshot, ProviderHost(config, screen, preview=preview), screen, options
    )
    if words.command == "refresh":
        deployment.refresh()
    elif words.command == "destroy":
        deployment.delete(snapshot.before)
    else:
        _warn(snapshot, screen, preview=preview)
        monitor = Monitor(deployment, stack, config)
        code = program.run(stack, config, monitor, screen, preview=preview)
        if code not in (0, program.SAID) and not deployment.failed:
            screen.error(f"an unhandled error occurred: the program ended with exit code {code}")
        deployment.finish(ended_well=code == 0)
    screen.summary()
    return _ended(words, screen, deployment)


def _warn(snapshot: Snapshot, screen: Screen, *, preview: bool) -> None:
    """Name the operations whose end nobody has seen."""
    if snapshot.unfinished and not preview:
        listed = (
            f"  * {each['resource']['urn']}, interrupted while {each['type']}"
            for each in snapshot.unfinished
        )
        screen.warn(PENDING.format(len(snapshot.unfinished), "\n".join(listed)))


def _ended(words: argparse.Namespace, screen: Screen, deployment: Deployment) -> int:
    operation = {"up": "update"}.get(words.command, words.command)
    if deployment.broken:
        screen.error(f"{operation if words.command == 'preview' else 'update'} failed")
    if deployment.failed:
        return 1
    if words.expect_no_changes and screen.changes:
        screen.error(f"no changes were expected for {operation} but changes were proposed")
        return 1
    return 0
