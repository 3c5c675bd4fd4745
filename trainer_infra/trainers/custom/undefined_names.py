"""Names that a piece of code uses and does not define.

`function` asks this of a function's source before it travels alone. The answer is read from the
compiled code, so scopes, comprehensions, `except ... as`, `global` and annotations count exactly as
they do when it runs. Nothing is run.
"""

import builtins
import dis
from collections.abc import Iterator
from types import CodeType

# Consoles and notebooks put these among the builtins; a pod does not have them.
BUILTINS = frozenset(dir(builtins)) - {"_", "display", "get_ipython"}
READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})


def undefined_names(text: str) -> dict[str, int]:
    """Name -> line of its first use, of every name that running the code would not find.

    Args:
        text: source of a module.

    Raises:
        SyntaxError: the text is not Python.
    """
    module = compile(text, "<source>", "exec", dont_inherit=True)
    lines: dict[str, int] = {}
    defined: set[str] = set()
    for code in _scopes(module):
        # What a class body defines is found there first, and nowhere else.
        local = set() if code is module else _written(code, "STORE_NAME")
        defined |= _written(code, "STORE_GLOBAL") | (_written(code, "STORE_NAME") - local)
        for name, line in _read(code):
            if name not in local:
                lines[name] = min(line, lines.get(name, line))
    missing = {name for name in lines.keys() - defined - BUILTINS if not _is_pythons(name)}
    return {name: lines[name] for name in sorted(missing, key=lambda name: (lines[name], name))}


def _is_pythons(name: str) -> bool:
    """Whether a module or class body has this name by itself, as `__name__`."""
    return name.startswith("__") and name.endswith("__")


def _scopes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _scopes(each)


def _read(code: CodeType) -> Iterator[tuple[str, int]]:
    for step in dis.get_instructions(code):
        if step.opname in READS:
            line = step.positions.lineno if step.positions else None
            yield step.argval, line or code.co_firstlineno


def _written(code: CodeType, how: str) -> set[str]:
    """Names that get a value; `x += 1` gives none to a name that has none."""
    found: set[str] = set()
    before: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        added = before is not None and before.opname == "BINARY_OP" and "=" in before.argrepr
        if step.opname == how and not added:
            found.add(step.argval)
        before = step
    return found
