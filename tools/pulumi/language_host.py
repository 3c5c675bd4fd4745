"""The Python language host: what the Pulumi engine starts in order to run a Python program.

Pulumi's own host is no published module, so the closed-network setup (tools/setup.py) links this one
as `pulumi-language-python` beside the CLI it builds. The engine passes its address as the last
argument, reads our port from the first line of stdout, and then asks for `Run` (the program) and
`RunPlugin` (policy packs, component providers). Protocol: LanguageRuntime in `pulumi.runtime.proto`.
"""

import asyncio
import json
import os
import platform
import shutil
import signal
import stat
import sys
import tomllib
import traceback
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def _messages_only() -> None:
    """Make `pulumi.runtime.proto.X` importable without running the SDK's own start-up code.

    That code takes 0.2 s of every `pulumi` command, and a host needs nothing of it.
    """
    found = find_spec("pulumi")
    if found is None or not found.submodule_search_locations:
        sys.exit(f"the Pulumi SDK is not installed for {sys.executable}; run `make setup`")
    root = Path(next(iter(found.submodule_search_locations)))
    for name in ("pulumi", "pulumi.runtime", "pulumi.runtime.proto"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package


_messages_only()

import grpc.aio  # noqa: E402  its messages come from `pulumi`
from pulumi.runtime.proto import language_pb2 as language  # noqa: E402
from pulumi.runtime.proto.language_pb2_grpc import (  # noqa: E402
    LanguageRuntimeServicer,
    add_LanguageRuntimeServicer_to_server,
)
from pulumi.runtime.proto.plugin_pb2 import PluginInfo  # noqa: E402
from typing_extensions import override  # noqa: E402

BAIL = 32
"""Exit code of a program that has shown its error itself (pulumi-language-python-exec)."""
MESSAGE_LIMIT = 400 * 1024 * 1024
"""Bytes of one message, as the SDK's own channels allow."""
LAST_WORDS = 2.0
"""Seconds a child has between SIGTERM and SIGKILL; the engine gives us 5 in all."""


class CannotRun(Exception):
    """The program cannot be started; the message says why and what to do."""


def interpreter(info: language.ProgramInfo) -> str:
    """The Python that runs a program: its `virtualenv` option, relative to the project's root.

    Without the option: `PULUMI_PYTHON_CMD`, else the Python of the environment we are installed in.

    Raises:
        CannotRun: the option names no virtual environment.
    """
    option = dict(info.options).get("virtualenv")
    if not option:
        return os.environ.get("PULUMI_PYTHON_CMD") or sys.executable
    python = Path(info.root_directory, str(option), "bin", "python")
    if not python.is_file():
        raise CannotRun(
            f"Pulumi.yaml: runtime.options.virtualenv: no virtual environment there, got {option!r}"
            f" ({python.parent.parent}); create it with `python3 -m venv` and install requirements.txt"
            " into it; in a checkout of trainer-infra run `make setup`"
        )
    return os.path.normpath(python)


def environment(python: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: ours, with `python`'s virtual environment active, and `extra`."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
    env |= extra
    folder = Path(python).parent
    if (folder.parent / "pyvenv.cfg").is_file():
        env["VIRTUAL_ENV"] = str(folder.parent)
        env["PATH"] = f"{folder}{os.pathsep}{env.get('PATH', '')}"
    return env


def program_arguments(request: language.RunRequest, engine: str) -> list[str]:
    """Arguments of pulumi-language-python-exec for one run."""
    options = {
        "monitor": request.monitor_address,
        "engine": engine,
        "project": request.project,
        "root_directory": request.info.root_directory,
        "stack": request.stack,
        "organization": request.organization,
        "pwd": request.pwd,
        "dry_run": "true" if request.dryRun else "false",
        "parallel": str(request.parallel),
    }
    program = os.path.normpath(Path(request.info.program_directory, request.info.entry_point))
    flags = [part for name, value in options.items() if value for part in (f"--{name}", value)]
    return [*flags, program, *request.args]


def plugin_command(request: language.RunPluginRequest) -> list[str]:
    """What to run for a plugin written in Python, as arguments of the interpreter.

    A policy pack runs in the SDK's pack runner; a folder with a `__main__.py` runs as it is; any
    other folder is a package whose components the SDK serves.

    Raises:
        CannotRun: the folder is neither.
    """
    folder = Path(request.info.program_directory)
    if request.kind == "analyzer":
        return ["-m", "pulumi.policy", *request.args, str(folder)]
    if (folder / "__main__.py").is_file():
        return [str(folder), *request.args]
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise CannotRun(f"{folder}: no __main__.py and no readable [project] table") from error
    return ["-m", "pulumi.run.plugin", project["name"], *request.args]


def outcome(code: int) -> language.RunResponse:
    """The answer to the engine about a program that ended with `code` (negative: by a signal)."""
    if code == 0:
        return language.RunResponse()
    if code == BAIL:
        return language.RunResponse(bail=True)
    if code < 0:
        name = signal.Signals(-code).name
        return language.RunResponse(error=f"the program was ended by {name}")
    return language.RunResponse(error=f"the program ended with exit code {code}")


class Children:
    """The processes we started; none of them outlives us."""

    def __init__(self) -> None:
        self._running: set[Process] = set()

    @asynccontextmanager
    async def started(
        self, command: Sequence[str], env: Mapping[str, str], **more: Any
    ) -> AsyncIterator[Process]:
        """Start `command` without standard input; leaving the block ends it where it still runs."""
        child = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, env=dict(env), **more)
        self._running.add(child)
        try:
            yield child
        finally:
            await self._stop(child)
            self._running.discard(child)

    async def stop_all(self) -> None:
        """End every child that still runs."""
        await asyncio.gather(*map(self._stop, self._running))

    async def _stop(self, child: Process) -> None:
        """SIGTERM, then SIGKILL."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if child.returncode is not None:
                return
            # Not child.send_signal(): it may reap the child before asyncio learns its exit code.
            with suppress(ProcessLookupError):
                os.kill(child.pid, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    await child.wait()


class LanguageHost(LanguageRuntimeServicer):
    """Answers the engine. Methods carry the protocol's names."""

    def __init__(self, engine: str, children: Children) -> None:
        self.engine = engine
        self.children = children

    @override
    async def Handshake(
        self, request: language.LanguageHandshakeRequest, _context: object
    ) -> language.LanguageHandshakeResponse:
        """Learn the engine's address where it was not an argument."""
        self.engine = request.engine_address or self.engine
        return language.LanguageHandshakeResponse()

    @override
    async def GetPluginInfo(self, _request: object, _context: object) -> PluginInfo:
        """Our version: that of nothing but this file."""
        return PluginInfo(version="0.1.0")

    @override
    async def GetRequiredPackages(
        self, _request: language.GetRequiredPackagesRequest, _context: object
    ) -> language.GetRequiredPackagesResponse:
        """None: providers are on PATH where downloads are refused."""
        return language.GetRequiredPackagesResponse()

    @override
    async def About(
        self, request: language.AboutRequest, _context: object
    ) -> language.AboutResponse:
        """The interpreter."""
        return language.AboutResponse(
            executable=interpreter(request.info), version=platform.python_version()
        )

    @override
    async def GetProgramDependencies(
        self, request: language.GetProgramDependenciesRequest, _context: object
    ) -> language.GetProgramDependenciesResponse:
        """The distributions installed for the program (`pulumi about`)."""
        python = interpreter(request.info)
        direct = [] if request.transitiveDependencies else ["--not-required"]
        command = [python, "-m", "pip", "list", "--format", "json", *direct]
        async with self.children.started(command, environment(python, {}), stdout=PIPE) as child:
            text, _ = await child.communicate()
        return language.GetProgramDependenciesResponse(
            dependencies=[
                language.DependencyInfo(name=found["name"], version=found["version"])
                for found in json.loads(text or b"[]")
            ]
        )

    @override
    async def InstallDependencies(
        self, request: language.InstallDependenciesRequest, _context: object
    ) -> AsyncIterator[language.InstallDependenciesResponse]:
        """Nothing is installed; a missing virtual environment is said."""
        try:
            interpreter(request.info)
        except CannotRun as problem:
            yield language.InstallDependenciesResponse(stderr=f"{problem}\n".encode())
            return
        said = b"this language host installs nothing: the virtual environment is used as it is\n"
        yield language.InstallDependenciesResponse(stdout=said)

    @override
    async def Run(self, request: language.RunRequest, _context: object) -> language.RunResponse:
        """Run a program to its end; its output goes straight to ours."""
        try:
            python = interpreter(request.info)
        except CannotRun as problem:
            return language.RunResponse(error=str(problem))
        runner = shutil.which(
            "pulumi-language-python-exec",
            path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        )
        if runner is None:
            return language.RunResponse(
                error="pulumi-language-python-exec is not on PATH; run `make setup`"
            )
        config = {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        command = [python, "-u", runner, *program_arguments(request, self.engine)]
        env = environment(python, config)
        async with self.children.started(command, env, cwd=request.pwd) as child:
            return outcome(await child.wait())

    @override
    async def RunPlugin(
        self, request: language.RunPluginRequest, _context: object
    ) -> AsyncIterator[language.RunPluginResponse]:
        """Run a plugin and stream what it writes; it ends when the engine drops the call."""
        try:
            python = interpreter(request.info)
            command = [python, "-u", *plugin_command(request)]
        except CannotRun as problem:
            yield language.RunPluginResponse(stderr=f"{problem}\n".encode())
            yield language.RunPluginResponse(exitcode=1)
            return
        env = environment(python, dict(entry.split("=", 1) for entry in request.env))
        pipes = {"stdout": PIPE, "stderr": PIPE}
        async with self.children.started(command, env, cwd=request.pwd, **pipes) as child:
            async for response in streamed(child):
                yield response
            yield language.RunPluginResponse(exitcode=await child.wait())


async def streamed(child: Process) -> AsyncIterator[language.RunPluginResponse]:
    """What a child writes to both streams, as it comes, until both are closed."""
    queue: asyncio.Queue[language.RunPluginResponse | None] = asyncio.Queue()

    async def pump(stream: asyncio.StreamReader | None, name: str) -> None:
        while stream and (chunk := await stream.read(65536)):
            await queue.put(language.RunPluginResponse(**{name: chunk}))  # type: ignore[arg-type]
        await queue.put(None)

    streams = {"stdout": child.stdout, "stderr": child.stderr}
    pumps = [asyncio.create_task(pump(stream, name)) for name, stream in streams.items()]
    for _ in pumps:
        while (response := await queue.get()) is not None:
            yield response


def engine_gone(loop: asyncio.AbstractEventLoop, gone: asyncio.Event) -> None:
    """Set `gone` when the engine disappears: it holds the other end of our standard input.

    A host that was started by hand has another kind of standard input and stays.
    """
    if not stat.S_ISFIFO(os.fstat(0).st_mode):
        return

    def readable() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            gone.set()

    loop.add_reader(0, readable)


def ignore_cancelled_calls() -> None:
    """Keep grpc from printing a traceback of a call that the engine cancelled.

    It does so (grpc.aio, `_schedule_rpc_coro`) when the call ends in that very moment, which happens
    on a busy machine, and the engine shows it to the user.
    """
    shown = traceback.print_exc

    def print_exc(*arguments: Any, **options: Any) -> None:
        if not isinstance(sys.exception(), asyncio.CancelledError):
            shown(*arguments, **options)

    traceback.print_exc = print_exc


async def serve(engine: str) -> None:
    """Serve one engine until it says so (SIGINT, SIGTERM) or is gone."""
    ignore_cancelled_calls()
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    engine_gone(loop, over)
    children = Children()
    limits = [("grpc.max_receive_message_length", MESSAGE_LIMIT)]
    server = grpc.aio.server(options=limits)
    add_LanguageRuntimeServicer_to_server(LanguageHost(engine, children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await over.wait()
    await children.stop_all()
    await server.stop(0)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[-1] if len(sys.argv) > 1 else ""))
