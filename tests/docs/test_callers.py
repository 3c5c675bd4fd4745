"""Every "Called by X" of a docstring is so: X is a module or a room, and it imports the module that says it."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.docs import prose
from tests.docs.prose import PYTHON, ROOT

NAME = r"(`[\w./-]+(?: --[\w-]+)?`|[\w/]+\.py|tests/\w+(?:/\w+)*)"
CALLED = re.compile(rf"\b[Cc]alled by ({NAME}(?:(?:, and by|, and|, by| and by| and|,) {NAME})*)?")
OUTSIDE = re.compile(r"\b[Cc]alled by (?:MkDocs|`make |users|the user's)")
"""Callers that are no modules of ours."""


@cache
def modules() -> Mapping[str, frozenset[str]]:
    """Dotted name of each module of the repository -> what it imports, however late."""
    return {_dotted(path): frozenset(_imported(path)) for path in PYTHON}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def problems(text: str, module: str) -> Iterator[str]:
    """A sentence for each caller that a docstring of the module names and that does not import it."""
    for found in CALLED.finditer(prose.words(text)):
        if not found[1] and not OUTSIDE.match(found.string, found.start()):
            yield f"names no module: {found.string[found.start() :][:60]}"
        for caller in re.findall(NAME, found[1] or ""):
            candidates = set(_candidates(caller.strip("`").split()[0], module))
            if not candidates:
                yield f"there is no {caller}"
            elif not any(_imports(each, module) for each in candidates):
                yield f"{caller} does not import it; imported by {_importers(module)}"


def _candidates(name: str, module: str) -> Iterator[str]:
    """Modules and rooms that a docstring may mean: those of that name, or of a value in it."""
    dotted = name.removesuffix(".py").replace("/", ".")
    around = module.split(".")
    for room in (".".join(around[:length]) for length in range(len(around), -1, -1)):
        for each in (dotted, dotted.rpartition(".")[0]):
            full = f"{room}.{each}".strip(".")
            if each and any(f"{name}.".startswith(f"{full}.") for name in modules()):
                yield full


def _imports(caller: str, module: str) -> bool:
    return any(
        module in imported
        for name, imported in modules().items()
        if f"{name}.".startswith(f"{caller}.")
    )


def _importers(module: str) -> str:
    return ", ".join(sorted(name for name, known in modules().items() if module in known))


def _statements(paths: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    for path in paths:
        for text in prose.of_python(path.read_text()):
            yield from ((path, text.line, each) for each in problems(text.text, _dotted(path)))


def test_every_caller_that_a_docstring_names_imports_the_module() -> None:
    ours = [path for path in PYTHON if path != Path(__file__)]
    wrong = [f"{path.relative_to(ROOT)}:{line}: {what}" for path, line, what in _statements(ours)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "Called by `pipeline`. Pure.",
        "Pure; called by `render.pipeline`, and\nby `render` for others.",
        "Called by `pipeline.render` and render/pipeline.py.",
        "Called by users.",
    ],
)
def test_a_caller_that_imports_the_module_is_no_problem(text: str) -> None:
    assert list(problems(text, "trainer_infra.render.resolve")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Called by `nothing`.", "there is no `nothing`"),
        ("Called by nothing.py and `pipeline`.", "there is no nothing.py"),
        ("Called by `pipeline`, and by\n`review`.", "`review` does not import it; imported by "),
        ("Called by the drivers.", "names no module: Called by the drivers."),
    ],
)
def test_a_caller_that_does_not_import_the_module_is_found(text: str, said: str) -> None:
    found = list(problems(text, "trainer_infra.render.resolve"))
    assert [each[: len(said)] for each in found] == [said]
