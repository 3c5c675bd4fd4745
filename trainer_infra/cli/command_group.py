"""The group of all commands, whose errors say what was meant: what other tools call a command, and values."""

from typing import Any, Final

import typer
from typing_extensions import override

OTHER_NAMES: Final = {
    **dict.fromkeys(("ls", "list", "ps", "jobs"), "get"),
    **dict.fromkeys(("status", "show", "inspect", "events", "top"), "describe"),
    **dict.fromkeys(("log", "tail"), "logs"),
    **dict.fromkeys(("rm", "remove", "kill", "cancel"), "delete"),
    **dict.fromkeys(("stop", "pause"), "suspend"),
    **dict.fromkeys(("start", "continue", "unsuspend"), "resume"),
    **dict.fromkeys(("rerun", "restart"), "retry"),
    **dict.fromkeys(("submit", "train", "exec", "create"), "run"),
    **dict.fromkeys(("lint", "validate", "verify", "audit"), "check"),
    **dict.fromkeys(("new", "start-project"), "init"),
    **dict.fromkeys(("convert", "import"), "migrate"),
    **dict.fromkeys(("template", "diff", "dry-run"), "render"),
    **dict.fromkeys(("clean", "prune", "cleanup"), "gc"),
    **dict.fromkeys(("runtimes", "runtime"), "catalog"),
}
"""What other tools call a command -> ours."""
OF_PULUMI: Final = {
    **dict.fromkeys(("up", "apply", "deploy"), "up"),
    **dict.fromkeys(("preview", "plan"), "preview"),
    **dict.fromkeys(("destroy", "down"), "destroy"),
    "refresh": "refresh",
}
"""What they, and Pulumi itself, call a command of Pulumi -> its name there."""
_VALUES: Final = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
}
"""How the library that reads values begins its sentences -> ours."""


class CommandGroup(typer.core.TyperGroup):
    """Commands whose mistakes are answered in our words."""

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names."""
        name = args[0]
        if name not in self.commands:
            if OTHER_NAMES.get(name) in self.commands:
                ctx.fail(f"No such command {name!r}. Did you mean {OTHER_NAMES[name]!r}?")
            if name in OF_PULUMI:
                command = f"pulumi {OF_PULUMI[name]}"
                ctx.fail(f"No such command {name!r}. Run `{command}` in the folder of the program.")
        return super().resolve_command(ctx, args)

    @override
    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            for theirs, ours in _VALUES.items():
                error.message = error.message.replace(theirs, ours)
            raise
