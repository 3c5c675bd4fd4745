"""Every "Called by X" of a docstring is so: X is a module or a room, and it imports the module that says it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.docs import prose
from tests.docs.prose import PYTHON, ROOT

NAME = r"(`[\w./-]+(?: --[\w-]+)?`|[\w/]+\.py|tests/\w+(?:/\w+)*)"
CALLED = re.compile(rf"\b[Cc]alled by ({NAME}(?:(?:, and by|, and|, by| and by| and|,) {NAME})*)?")
SAYS = re.compile(r"\b[Cc]alled[\s#]+by\b")
"""As it stands in a file, where a comment or a docstring may break the line between the words."""
OUTSIDE = re.compile(r"[Cc]alled by (?:MkDocs|`make |users|the user's)")
"""Callers that are no modules of ours."""
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) )?import (\([^)]*\)|[^\n(;]+)", re.MULTILINE)
MODULES: Mapping[str, Path] = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PYTHON
}
"""By dotted name."""
PLACES = {
    ".".join(name.split(".")[:length])
    for name in MODULES
    for length in range(1, name.count(".") + 2)
}
"""Modules and the folders that they are in."""


@cache
def importers() -> Mapping[str, set[str]]:
    """Name of a module, or the beginning of names with an asterisk -> modules that import it, however late."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        for name in _imported(path):
            found[name].add(module)
    return found


def _imported(path: Path) -> Iterator[str]:
    source = path.read_text()
    for found in IMPORT.finditer(prose.code(source)):
        # `from MODULE import NAME, NAME`, or `import NAME, NAME`.
        module, given = found[1], found[2].strip("()").split(",")
        names = [each.split()[0] for each in given if each.strip()]
        yield from (f"{module}.{each}" if module else each for each in names)
        if module:
            yield module
    if "import_module(" in source:
        yield from filter(None, map(_loaded, ast.walk(ast.parse(source))))


def _loaded(node: ast.AST) -> str:
    """What a call imports by a name: up to what is filled in, with an asterisk; empty for any other node."""
    if isinstance(node, ast.Call) and _called(node).endswith("import_module"):
        return re.sub(r"\{.*", "*", ast.unparse(node.args[0]).strip("f'\""))
    return ""


def _called(node: ast.Call) -> str:
    """The last word of what is called."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def importers_of(module: str) -> set[str]:
    """Modules that import it, by its name or by a text that begins with its room's."""
    rooms = [module[: end.start() + 1] + "*" for end in re.finditer(r"\.", module)]
    return {each for name in (module, *rooms) for each in importers().get(name, ())}


def problems(text: str, module: str) -> Iterator[str]:
    """A sentence for each caller that a docstring of the module names and that does not import it."""
    for found in CALLED.finditer(prose.words(text)):
        if not found[1] and not OUTSIDE.match(found.string, found.start()):
            yield f"names no module: {found.string[found.start() :][:60]}"
        for caller in re.findall(NAME, found[1] or ""):
            places = tuple(f"{each}." for each in _places(caller.strip("`").split()[0], module))
            known = importers_of(module)
            if not places:
                yield f"there is no {caller}"
            elif not any(f"{each}.".startswith(places) for each in known):
                yield f"{caller} does not import it; imported by {', '.join(sorted(known))}"


def _places(name: str, module: str) -> Iterator[str]:
    """Modules and folders that a docstring may mean: those of that name, or of a value in it."""
    dotted = name.removesuffix(".py").replace("/", ".")
    around = module.split(".")
    for room in (".".join(around[:length]) for length in range(len(around), -1, -1)):
        full = f"{room}.{dotted}".strip(".")
        holder, _, value = full.rpartition(".")
        if full in PLACES:
            yield full
        elif holder in MODULES and value in _values(holder):
            yield holder


@cache
def _values(module: str) -> frozenset[str]:
    """Functions, classes and constants that a module defines."""
    body = prose.parsed(MODULES[module]).body
    targets = (each.target if isinstance(each, ast.AnnAssign) else each for each in body)
    return frozenset(getattr(each, "id", getattr(each, "name", "")) for each in targets)


def test_every_caller_that_a_docstring_names_imports_the_module() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{text.line}: {each}"
        for module, path in MODULES.items()
        if path != Path(__file__) and SAYS.search(path.read_text())
        for text in prose.of_file(path)
        for each in problems(text.text, module)
    ]
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
        ("Called by `render.nothing`.", "there is no `render.nothing`"),
        ("Called by `pipeline.nothing`.", "there is no `pipeline.nothing`"),
        ("Called by the drivers.", "names no module: Called by the drivers."),
    ],
)
def test_a_caller_that_does_not_import_the_module_is_found(text: str, said: str) -> None:
    found = list(problems(text, "trainer_infra.render.resolve"))
    assert [each[: len(said)] for each in found] == [said]


def test_a_module_that_is_imported_by_its_name_has_a_caller() -> None:
    module = "trainer_infra.deploy.operations.train_jobs.gate"
    assert list(problems("Called by `deploy.provider`.", module)) == []


def test_imports_are_statements_and_calls_not_what_strings_say(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        'import a.b\nfrom c import (\n    d,  # e\n    f as g,\n)\nTEXT = """\nimport h\n"""\n'
        'def late():\n    from i import j\n    # import k\n    importlib.import_module(f"l.{name}")\n'
    )
    found = set(_imported(tmp_path / "module.py"))
    assert found == {"a.b", "c", "c.d", "c.f", "i", "i.j", "l.*"}
