"""What docstrings and comments name exists: exceptions, modules, functions and constants."""

import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.docs import prose

PACKAGE: Final = prose.ROOT / "trainer_infra"
SOURCES: Final = [path for path in prose.PYTHON if path.is_relative_to(PACKAGE)]
NAME: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+|_[a-z]\w*|[A-Z]+(_[A-Z]+)+|([A-Z][a-z0-9]+){2,}")
"""Words that nothing but a name of a program is: `snake_case`, `_private`, `A_CONSTANT`, `TheClass`."""
ELSEWHERE: Final = re.compile(
    r"(Validate|Is|Get)[A-Z]\w+"  # functions of Kubernetes' and Pulumi's sources
    r"|PodRequests|TrainerClient|NodeGroup|NodePool|AgentPool|LaunchTemplate|RepresenterError"
    r"|HoldAndDrain|UsageBasedAdmissionFairSharing|NoAdmissionFairSharing|LowerOrNewerEqualPriority|BorrowingOverPreemption|PreemptionOverBorrowing"
    r"|IdenticalPodTemplates|IdenticalWorkloadSchedulingRequirements"  # values of Kueue's schemas
    r"|local_dataset|translate_output_property|fully_shard|parallelize_module|pulumi_\w+|hf_x+|token_url|DATA_KEY"
)
"""What other programs have, and examples of texts that a rule looks for."""


@cache
def words_of(path: Path) -> frozenset[str]:
    """All names and words of a file's code, what it says beside it left out."""
    text = path.read_text()
    for each in prose.of_file(path):
        text = text.replace(each.text, "")
    return frozenset(re.findall(r"\w+", text))


@cache
def all_words() -> frozenset[str]:
    stems = {part for path in SOURCES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    return frozenset(stems).union(*map(words_of, SOURCES))


@cache
def exceptions() -> set[str]:
    declared = [
        (name, set(re.findall(r"\w+", bases)))
        for path in SOURCES
        for name, bases in re.findall(r"^class (\w+)\(([^)]*)\)", path.read_text(), re.MULTILINE)
    ]
    found = {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt"))}
    while more := {name for name, bases in declared if found & bases} - found:
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
        (path, each.line, name.rpartition(".")[2])
        for path in SOURCES
        for each in prose.of_file(path)
        for name in raised(each.text)
    ]
    missing = [
        (str(path), line, name)
        for path, line, name in every
        if name not in exceptions() | words_of(path) and not ELSEWHERE.fullmatch(name)
    ]
    assert missing == []
    assert len(every) > 300


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


def test_a_name_that_is_gone_is_found() -> None:
    words = frozenset({"rules", "value", "UnseenValue"})
    wrong = ["Value_of", "rules.the_walk", "Unseen_Value", "walk.py", "look()", "TheValue"]
    assert [each for each in wrong if not unknown(each, words)] == ["Value_of", "Unseen_Value"]
    assert not any(
        unknown(each, words) for each in ("UnseenValue", "value.py", "spec.nodes", "a-b")
    )
    section = "It.\n\n    Raises:\n        A, b.B: one.\n            C: no.\n        D: x.\n"
    assert [*raised(section)] == ["A", "b.B", "D"]


def test_names_in_the_backticks_of_docstrings_exist() -> None:
    every = [
        (str(path), each.line, token)
        for path in SOURCES
        for each in prose.of_file(path)
        for token in re.findall(r"(?<!`)`([^`\s]+)`(?!`)", each.text)
    ]
    assert [each for each in every if unknown(each[2], all_words())] == []
    assert len(every) > 1000


def test_no_docstring_says_who_calls_it() -> None:
    """The import graph knows, and stays right."""
    found = [
        (str(path), line)
        for path in prose.PYTHON
        if path != Path(__file__)
        for each in prose.of_file(path)
        for line, _ in each.matches(re.compile(r"\b[Cc]alled by [`\w]+(?:\.py|/|`)"))
    ]
    assert found == []
