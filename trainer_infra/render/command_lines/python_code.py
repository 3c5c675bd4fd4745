"""What Python code starts, and whether it runs what it downloads, read without running it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trainer_infra.render.command_lines.references import UNREAD

MOST_CHARACTERS: Final = 2**17
"""Of a text that is read."""
_STARTS: Final = frozenset(
    {
        *("os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.Popen"),
        *("subprocess.check_call", "subprocess.check_output", "subprocess.getoutput"),
        *(
            "subprocess.getstatusoutput",
            "asyncio.create_subprocess_shell",
            "pty.spawn",
            "os.execvp",
        ),
    }
)
_RUNS: Final = _STARTS | {"exec", "eval", "runpy.run_path"}
_FETCHES: Final = (
    *("urlopen", "urlretrieve", "requests.get", "requests.request", "httpx.get", "httpx.stream"),
    *("session.get", "http.request", "urllib3.request", "wget.download"),
)
_SENDS: Final = ("connect", "create_connection", "open_connection", "connect_ex")
_GIVES: Final = ("os.dup2", "pty.spawn", "os.openpty")
_SLEEPS: Final = "sleep"


@dataclass(frozen=True, slots=True)
class PythonCode:
    """What was read of a text."""

    commands: tuple[tuple[str, ...], ...]
    """Command lines that it starts, those of a shell as `sh -c`."""
    runs_download: bool
    """Whether it runs what it fetches."""
    opens_shell: bool
    """Whether it gives a terminal or its own files to a connection."""
    sleeps: bool
    """Whether all that it does in the end is to wait."""


NO_CODE: Final = PythonCode((), runs_download=False, opens_shell=False, sleeps=False)


@lru_cache(maxsize=1 << 8)
def read_python(text: str) -> PythonCode:
    """What a text does, as far as that is said by names of the standard library and of requests."""
    if len(text) > MOST_CHARACTERS:
        return NO_CODE
    try:
        tree = ast.parse(text.replace(UNREAD, "_"))
        calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NO_CODE
    named = [(_dotted(each.func), each) for each in calls]
    fetched = _fetched(tree)
    runs = (each for name, each in named if name in _RUNS or name.endswith(".loader.exec_module"))
    opened = {name.rpartition(".")[2] for name, _ in named}
    return PythonCode(
        tuple(words for name, each in named if name in _STARTS for words in _words(each)),
        any(_is_fetched(argument, fetched) for each in runs for argument in each.args),
        bool(opened & {*_SENDS}) and any(name in _GIVES for name, _ in named),
        _ends_in_sleep(tree),
    )


def _dotted(node: ast.expr) -> str:
    """The name of what is called: `os.system`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call) and _dotted(node.func) == "__import__" and node.args:
        parts.append(str(getattr(node.args[0], "value", "")))
    return ".".join(reversed(parts))


def _is_fetched(node: ast.AST, fetched: set[str]) -> bool:
    return any(
        (isinstance(each, ast.Call) and _dotted(each.func).endswith(_FETCHES))
        or (isinstance(each, ast.Name) and each.id in fetched)
        for each in ast.walk(node)
    )


def _fetched(tree: ast.AST) -> set[str]:
    """Names of what was fetched."""
    found: set[str] = set()
    for each in ast.walk(tree):
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


def _ends_in_sleep(tree: ast.Module) -> bool:
    """Whether the last statement waits for hours, or for a signal."""
    return bool(tree.body) and _is_sleep(tree.body[-1])


def _is_sleep(last: ast.stmt) -> bool:
    if isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and last.test.value:
        return all(_is_call(each, _SLEEPS) or isinstance(each, ast.Pass) for each in last.body)
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        name, arguments = _dotted(last.value.func), last.value.args
        return name == "signal.pause" or (name.endswith(_SLEEPS) and _is_long(arguments))
    return False


def _is_call(statement: ast.stmt, name: str) -> bool:
    is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return is_call and _dotted(statement.value.func).endswith(name)  # type: ignore[attr-defined]


def _is_long(arguments: Sequence[ast.expr]) -> bool:
    """Whether it is hours, written as a number or as a product."""
    product = 1.0
    for each in ast.walk(ast.List(list(arguments), ast.Load())):
        if isinstance(each, ast.Constant):
            product *= each.value if isinstance(each.value, int | float) else float("inf")
    return product >= 3600  # noqa: PLR2004  seconds of an hour
