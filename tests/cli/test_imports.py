"""What the command imports: nothing for --help, and Pulumi never."""

import subprocess
import sys

LOADED = """
import contextlib, io, sys
from trainer_infra.cli import main
{after}
print(*sorted({{name.split(".")[0] for name in sys.modules}} & {{"pulumi", "pydantic", "rich", "yaml"}}))
print(*sorted(name for name in sys.modules if name.startswith("trainer_infra.")))
"""
HELP = """
sys.argv = ["trainer-infra", "--help"]
with contextlib.redirect_stdout(io.StringIO()):
    assert main.main() == 0
"""
COMMANDS = """
from trainer_infra.cli import catalog, describe, gc_here, gc_runs, get, logs
from trainer_infra.cli import check, init, migrate, render, rules, run, run_changes, submission
from trainer_infra.cluster.provider import engine_provider
"""


def printed(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loaded(after: str) -> tuple[list[str], list[str]]:
    libraries, modules = printed(LOADED.format(after=after)).splitlines()
    return libraries.split(), modules.split()


def test_help_loads_no_room_and_no_library() -> None:
    own = [
        "cli",
        "cli.command_group",
        "cli.main",
        "cli.options",
        "cli.policy",
        "cli.runs",
        "errors",
    ]
    assert loaded(HELP) == ([], [f"trainer_infra.{each}" for each in own])


def test_no_command_loads_pulumi() -> None:
    assert loaded(COMMANDS)[0] == ["pydantic", "rich", "yaml"]


def test_a_program_that_names_a_trainer_loads_no_library_and_no_renderer() -> None:
    libraries, modules = loaded("from trainer_infra import CustomTrainer")
    rooms = {module.split(".")[1] for module in modules if "." in module}
    assert (libraries, rooms & {"render", "deploy", "rules", "catalog"}) == ([], set())


def test_a_supervisor_starts_without_a_built_model() -> None:
    """Each run starts one: Pydantic looks for its plugins when the first model is built, which costs a tenth."""
    program = "import sys, trainer_infra.local.supervisor; print('pydantic.plugin._loader' in sys.modules)"
    assert printed(program) == "False\n"
