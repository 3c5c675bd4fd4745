"""A Pulumi program, run by the SDK's own host script with an engine that is in this process."""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any, Final

import pulumi.runtime

from tests.engine import values
from tests.engine.backend import StackFiles
from tests.engine.monitor import Monitor
from tests.engine.screen import Screen
from tests.engine.values import Properties

_SCRIPT: Final = Path(sys.executable).parent / "pulumi-language-python-exec"

SAID: Final = 32
"""Exit code of a program that has said itself why it failed."""


def run(
    stack: StackFiles, config: Properties, monitor: Monitor, screen: Screen, *, preview: bool
) -> int:
    """Run the program of a stack to its end, and give its exit code."""
    os.environ["PULUMI_CONFIG"] = json.dumps(values.plain(config))
    secret = [key for key, each in config.items() if values.is_secret(each)]
    os.environ["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(secret)
    # Python takes two programs for one that have the same length and were written within a second.
    sys.dont_write_bytecode = True
    settings = pulumi.runtime.Settings

    def settings_here(**given: Any) -> Any:
        return settings(**given | {"monitor": monitor, "engine": screen})

    vars(pulumi.runtime)["Settings"] = settings_here
    sys.argv = [
        str(_SCRIPT),
        *("--project", str(stack.project["name"]), "--stack", stack.name),
        *("--organization", "organization", "--root_directory", str(stack.folder)),
        *("--dry_run", str(preview).lower(), "--parallel", str(4 * (os.cpu_count() or 1))),
        *("--pwd", str(stack.program), str(stack.program.resolve())),
    ]
    try:
        runpy.run_path(str(_SCRIPT), run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    raise AssertionError("the SDK's script returned")
