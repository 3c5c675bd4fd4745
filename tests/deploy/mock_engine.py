"""A program's constructors in this process, with mocks in the place of the engine at its preview."""

import asyncio
from typing import Any

import pulumi
from pulumi.runtime import mocks
from typing_extensions import override


class MockEngine(mocks.Mocks):
    """Takes every resource, and keeps what was registered."""

    def __init__(self) -> None:
        self.inputs: list[dict[str, Any]] = []

    @override
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.inputs.append(args.inputs)
        return args.name, args.inputs

    @override
    def call(self, _args: mocks.MockCallArgs) -> tuple[dict[Any, Any], None]:
        return {}, None


def output(value: Any, *, known: bool, secret: bool = False) -> pulumi.Output[Any]:
    """An Output as the engine gives it; inside a program, which has an event loop."""

    async def given(what: Any) -> Any:
        return what

    return pulumi.Output(given(set()), given(value), given(known), given(secret))


def unknown() -> Any:
    """An Output that only the deployment will tell."""
    return output(None, known=False)


def constructed(make: Any) -> None:
    """Run a program's constructors; a refusal ends it as it would end a preview."""

    def program() -> None:
        # Outputs of what is refused end with an exception that nobody asks for. Python before
        # 3.11.9 parses a source to print it, and fails (gh-106905) where that comes in the midst of
        # another parse, as when its garbage is collected there.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        make()

    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]  # the SDK has no types here
