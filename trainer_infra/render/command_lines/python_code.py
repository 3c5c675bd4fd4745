"""What Python code starts, and whether it runs what it downloads, read without running it."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trainer_infra.render.command_lines.references import UNREAD

MOST_CHARACTERS: Final = 2**17
"""Of a text that is read."""
_STARTS: Final = frozenset(
    {
        *("os.system", "os.popen", "os.execvp", "pty.spawn", "asyncio.create_subprocess_shell"),
        *("subprocess.run", "subprocess.call", "subprocess.Popen", "subprocess.check_call"),
        *("subprocess.check_output", "subprocess.getoutput", "subprocess.getstatusoutput"),
    }
)
_RUNS: Final = _STARTS | {"exec", "eval", "runpy.run_path"}
_FETCHES: Final = (
    *("urlopen", "urlretrieve", "requests.get", "requests.request", "httpx.get", "httpx.stream"),
    *("session.get", "http.request", "urllib3.request", "wget.download"),
)
_SENDS: Final = frozenset({"connect", "create_connection", "open_connection", "connect_ex"})
_GIVES: Final = ("os.dup2", "pty.spawn", "os.openpty")
_SLEEPS: Final = "sleep"
_SIGTERM: Final = 15
_EXITS: Final = frozenset({"sys.exit", "exit", "quit", "os._exit", "SystemExit"})
_JIT: Final = "enable_jit_checkpoint"
"""transformers' Trainer saves when it is told to end, and ends as if it were done."""
_MARKS: Final = (
    *("system", "popen", "Popen", "subprocess", "spawn", "execvp", "dup2", "sleep", "pause"),
    *(
        "while",
        "urlopen",
        "urlretrieve",
        "requests",
        "httpx",
        "session",
        "http.",
        "urllib3",
        "wget",
    ),
    *("SIGTERM", "signal.signal", "jit_checkpoint", "_dir=", "dirpath=", "_signal_handler("),
)
"""Code without any of these is not read."""
_AN_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class PythonCode:
    """What was read of a text."""

    text: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    """Command lines that it starts, those of a shell as `sh -c`."""
    runs_download: bool = False
    """Whether it runs what it fetches."""
    opens_shell: bool = False
    """Whether it gives a terminal or its own files to a connection."""
    sleeps: bool = False
    """Whether all that it does in the end is to wait."""
    takes_sigterm: bool = False
    """Whether it has a handler of its own for SIGTERM."""
    ends_well: bool = False
    """Whether it ends with 0 when it is told to end: such a handler says so, or an option of transformers."""
    texts: tuple[tuple[str, str], ...] = ()
    """Texts that it gives to what it calls, by the names of the arguments."""


@lru_cache(maxsize=1 << 8)
def read_python(text: str) -> PythonCode:
    """What a text does, as far as that is said by names of the standard library and of requests."""
    if len(text) > MOST_CHARACTERS or not any(each in text for each in _MARKS):
        return PythonCode()
    try:
        return _read(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonCode()


def _read(text: str) -> PythonCode:
    tree = ast.parse(text.replace(UNREAD, "_"))
    nodes = [*ast.walk(tree)]
    _write_out_imported(nodes)
    named = [(_dotted(each.func), each) for each in nodes if isinstance(each, ast.Call)]
    fetched = _fetched(nodes)
    runs = (each for name, each in named if name in _RUNS or name.endswith(".loader.exec_module"))
    connects = any(name.rpartition(".")[2] in _SENDS for name, _ in named)
    handlers = [*_sigterm_handlers(nodes, named)]
    keywords = [one for _, each in named for one in each.keywords if one.arg]
    return PythonCode(
        text,
        tuple(words for name, each in named if name in _STARTS for words in _words(each)),
        any(_is_fetched(argument, fetched) for each in runs for argument in each.args),
        connects and any(name in _GIVES for name, _ in named),
        bool(tree.body) and _is_sleep(tree.body[-1]),
        bool(handlers),
        any(_ends_well(each, nodes, set()) for each in handlers)
        or any(one.arg == _JIT and getattr(one.value, "value", 0) is True for one in keywords),
        tuple((str(one.arg), text) for one in keywords if (text := _text(one.value)) != UNREAD),
    )


def _sigterm_handlers(
    nodes: Sequence[ast.AST], named: Iterable[tuple[str, ast.Call]]
) -> Iterator[ast.expr]:
    """What is called when SIGTERM comes, as it is written where it is registered."""
    loops = {
        each.target.id: each.iter
        for each in nodes
        if isinstance(each, ast.For) and isinstance(each.target, ast.Name)
    }
    for name, each in named:
        if name.endswith(("signal.signal", ".add_signal_handler")) and each.args[1:]:
            signal = loops.get(getattr(each.args[0], "id", ""), each.args[0])
            is_sigterm = "SIGTERM" in ast.dump(signal) or getattr(signal, "value", 0) == _SIGTERM
            if is_sigterm and not _dotted(each.args[1]).endswith("SIG_DFL"):
                yield each.args[1]


def _ends_well(called: ast.AST, nodes: Sequence[ast.AST], seen: set[str]) -> bool:
    """Whether what is called ends the program with 0, by itself or by functions of the same text."""
    if isinstance(called, ast.Name | ast.Attribute):
        name = _dotted(called).rpartition(".")[2]
        own = [each for each in nodes if getattr(each, "name", "") == name not in {"", *seen}]
        seen.add(name)
        return any(_ends_well(each, nodes, seen) for each in own)
    for each in ast.walk(called):
        if isinstance(each, ast.Raise) and getattr(each.exc, "id", "") == "SystemExit":
            return True
        if isinstance(each, ast.Call):
            code = each.args[0] if each.args else ast.Constant(0)
            if _dotted(each.func) in _EXITS and getattr(code, "value", 1) in (0, None):
                return True
            # The first argument of functools.partial is called, too.
            if any(_ends_well(one, nodes, seen) for one in (each.func, *each.args[:1])):
                return True
    return False


def _write_out_imported(nodes: Iterable[ast.AST]) -> None:
    """Gives names that are imported their whole names: `sp` of `import subprocess as sp`, `run` from there."""
    whole: dict[str, str] = {}
    for each in nodes:
        if isinstance(each, ast.ImportFrom):
            whole |= {one.asname or one.name: f"{each.module}.{one.name}" for one in each.names}
        elif isinstance(each, ast.Import):
            whole |= {one.asname: one.name for one in each.names if one.asname}
        elif isinstance(each, ast.Name):
            each.id = whole.get(each.id, each.id)


def _dotted(node: ast.expr) -> str:
    """The name of what is called: `os.system`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "__import__" and node.args:
        parts.append(str(getattr(node.args[0], "value", "")))
    return ".".join(reversed(parts))


def _is_fetched(node: ast.AST, fetched: set[str]) -> bool:
    return any(
        (isinstance(each, ast.Call) and _dotted(each.func).endswith(_FETCHES))
        or (isinstance(each, ast.Name) and each.id in fetched)
        for each in ast.walk(node)
    )


def _fetched(nodes: Iterable[ast.AST]) -> set[str]:
    """Names of what was fetched."""
    found: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.Assign) and _is_fetched(each.value, found):
            found |= {target.id for target in each.targets if isinstance(target, ast.Name)}
        elif isinstance(each, ast.withitem) and isinstance(each.optional_vars, ast.Name):
            found |= {each.optional_vars.id} if _is_fetched(each.context_expr, found) else set()
    return found


def _words(call: ast.Call) -> Iterator[tuple[str, ...]]:
    """The command that is started, where it is written out."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple):
        words = tuple(map(_text, first.elts))
        if words and words[0] != UNREAD:
            yield words
    elif first is not None and (text := _text(first)) != UNREAD:
        yield ("sh", "-c", text)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(each) for each in node.values)
    return UNREAD


def _is_sleep(last: ast.stmt) -> bool:
    """Whether a statement waits for hours, or for a signal."""
    if isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and last.test.value:
        return all(
            isinstance(each, ast.Pass) or _called(each)[0].endswith(_SLEEPS) for each in last.body
        )
    name, arguments = _called(last)
    return name == "signal.pause" or (name.endswith(_SLEEPS) and _is_long(arguments))


def _called(statement: ast.stmt) -> tuple[str, Sequence[ast.expr]]:
    """What a statement that is a call calls, and with what; an empty name for another one."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _dotted(statement.value.func), statement.value.args
    return "", ()


def _is_long(arguments: Sequence[ast.expr]) -> bool:
    """Whether it is hours, written as a number, a product or a power."""
    product = 1.0
    for each in ast.walk(ast.List(list(arguments), ast.Load())):
        if isinstance(each, ast.Pow):
            return True
        if isinstance(each, ast.Constant):
            product *= each.value if isinstance(each.value, int | float) else float("inf")
    return product >= _AN_HOUR
