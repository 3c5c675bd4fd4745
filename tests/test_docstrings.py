"""What docstrings name exists: exceptions, modules, functions and constants."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent.parent / "trainer_infra"
OWNERS: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NAME: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+|_[a-z]\w*|[A-Z]+(_[A-Z]+)+|([A-Z][a-z0-9]+){2,}")
"""Words that nothing but a name of a program is: `snake_case`, `_private`, `A_CONSTANT`, `TheClass`."""
ELSEWHERE: Final = re.compile(
    r"(Validate|Is|Get)[A-Z]\w+"  # functions of Kubernetes' and Pulumi's sources
    r"|PodRequests|TrainerClient|NodeGroup|NodePool|AgentPool|LaunchTemplate|RepresenterError"
    r"|local_dataset|fully_shard|parallelize_module|pulumi_\w+|hf_x+|token_url|DATA_KEY"
)
"""What other programs have, and examples of texts that a rule looks for."""


@dataclass(frozen=True, slots=True)
class Module:
    """What a file declares and says."""

    path: Path
    name: str
    docstrings: tuple[tuple[int, str], ...]
    """Each with its line; also those below a variable."""
    words: frozenset[str]
    """All names and words of its code, docstrings left out."""
    classes: tuple[tuple[str, tuple[str, ...]], ...]
    """Each with the names of its bases."""


@cache
def modules() -> tuple[Module, ...]:
    return tuple(map(read_module, sorted(PACKAGE.rglob("*.py"))))


def read_module(path: Path) -> Module:
    text = path.read_text()
    tree, lines = ast.parse(text), text.split("\n")
    texts: list[ast.Constant] = []
    classes = []
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.ClassDef):
            classes.append((node.name, tuple(ast.unparse(base) for base in node.bases)))
        if isinstance(node, OWNERS):
            left += node.body
            texts += [
                each.value
                for each in node.body
                if isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ]
    for each in texts:
        lines[each.lineno - 1 : each.end_lineno] = [""] * ((each.end_lineno or 0) - each.lineno + 1)
    return Module(
        path,
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"),
        tuple((each.lineno, str(each.value)) for each in texts),
        frozenset(re.findall(r"\w+", "\n".join(lines))),
        tuple(classes),
    )


@cache
def exceptions() -> set[str]:
    found = {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt"))}
    declared = [each for module in modules() for each in module.classes]
    while more := {name for name, bases in declared if found & {*bases}} - found:
        found |= more
    return found


def raised(docstring: str) -> Iterator[str]:
    """The names of a section `Raises:`."""
    section = docstring.partition("Raises:\n")[2].partition("\n\n")[0].split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in section if line.strip()), default=0)
    for line in section:
        if line.strip() and not line[margin].isspace():
            yield from re.split(r",\s*|\s+or\s+", line.strip().partition(":")[0])


def test_errors_that_docstrings_say_are_raised_exist() -> None:
    every = [
        (module, line, name.rpartition(".")[2])
        for module in modules()
        for line, docstring in module.docstrings
        for name in raised(docstring)
    ]
    missing = [
        (module.name, line, name)
        for module, line, name in every
        if name not in exceptions() | module.words and not ELSEWHERE.fullmatch(name)
    ]
    assert missing == []
    assert len(every) > 300


def test_a_name_that_is_gone_is_found() -> None:
    words = frozenset({"rules", "value", "UnseenValue"})
    wrong = ["Value_of", "rules.the_walk", "Unseen_Value", "walk.py", "look()", "TheValue"]
    assert [each for each in wrong if not unknown(each, words)] == ["Value_of", "Unseen_Value"]
    assert not any(
        unknown(each, words) for each in ("UnseenValue", "value.py", "spec.nodes", "a-b")
    )
    assert [
        *raised("It.\n\n    Raises:\n        A, b.B: one.\n            C: no.\n        D: x.\n")
    ] == [*("A", "b.B", "D")]


def unknown(token: str, words: frozenset[str]) -> bool:
    """Whether a text in backticks names what is not there; a field of an object never does."""
    if token.endswith((".json", ".yaml")):
        return False
    parts = token.removesuffix("()").removesuffix(".py").split(".")
    if not all(part.isidentifier() for part in parts) or ELSEWHERE.fullmatch(parts[-1]):
        return False
    if token.endswith((".py", "()")):
        return parts[-1] not in words
    return any(NAME.fullmatch(part) and part not in words for part in parts)


def test_names_in_the_backticks_of_docstrings_exist() -> None:
    stems = {part for module in modules() for part in module.name.split(".")}
    words = frozenset().union(stems, *(module.words for module in modules()))
    every = [
        (module.name, line, token)
        for module in modules()
        for line, docstring in module.docstrings
        for token in re.findall(r"(?<!`)`([^`\s]+)`(?!`)", docstring)
    ]
    assert [each for each in every if unknown(each[2], words)] == []
    assert len(every) > 1000


def test_no_docstring_says_who_calls_it() -> None:
    """The import graph knows, and stays right."""
    said = [
        (module.name, line)
        for module in modules()
        for line, docstring in module.docstrings
        if re.search(r"\b[Cc]alled by\b", docstring)
    ]
    assert said == []
