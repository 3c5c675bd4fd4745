"""Every citation leads somewhere: to a section, rule, row, decision, quirk or page that exists.

A citation has one form for each place: `reference behaviour 3.3`, `SDK contract 3.1`, `Pulumi facts row 12`,
`design rule 2`, `design "Names that are an API"`, `decision 0002`, `Q7`, `docs/page.md`.
"""

import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.docs import page, prose
from tests.docs.prose import MARKDOWN, PYTHON, ROOT, Prose

DOCS = ROOT / "docs"
PACKAGE = ROOT / "trainer_infra"
PLACES: Mapping[str, tuple[Path, ...]] = {
    "reference behaviour": tuple((DOCS / "reference" / "trainer-behaviour").glob("*.md")),
    "SDK contract": (DOCS / "reference" / "sdk-contract.md",),
    "Pulumi facts": (DOCS / "reference" / "pulumi-facts.md",),
    "design": (DOCS / "reference" / "design.md",),
    "decision": tuple((DOCS / "decisions").glob("*.md")),
    "quirk": (DOCS / "compatibility.md",),
}

NUMBERS = r"((?:(?:, | and | to |, and | )\d[\d.]*\d|(?:, | and | to |, and | )\d)+)"
SECTIONS = re.compile(r"\b([Rr]eference behaviour|SDK contract|Pulumi facts)(?: rows?)?" + NUMBERS)
RULES = re.compile(r"\b[Dd]esign rules?" + NUMBERS)
TITLE = re.compile(r'\b[Dd]esign,? "([^"]+)"')
DECISION = re.compile(r"\b[Dd]ecisions? (\d+)")
QUIRK = re.compile(r"\bQ\d+\b")
PAGE = re.compile(r'\b(docs/[\w./-]+\.md)(?:, "([^"]+)")?')
MODULE = re.compile(r"(?<![\w./<-])((?:[\w-]+/)*[a-z_]\w*\.py)\b")
LINK = re.compile(r'\]\((?!https?:)([\w./-]+\.md)\), "([^"]+)"')
HERE = re.compile(r'\b(?:below|above), "([^"]+)"')
NOWHERE = re.compile(
    r"DESIGN\.md|style-anchors|\bspec/[\w-]+\.md|\b[Ss]pec(?:ification)?,? sections? \d|\b[Ii]ssue \d"
    r"|\b(?:[Rr]eference behaviour|SDK contract|Pulumi facts),? (?:sections?|steps?|items?) \d"
    r"|(?<!')\b[Ss]ections? \d|§|shared/\w+\.md"
)
"""Forms that name no place of the repository."""


@cache
def labels(path: Path) -> frozenset[str]:
    """What a page can be cited for: titles, numbers of its headings, rules, and first cells of its rows."""
    text = path.read_text()
    titles = re.findall(r"^#+ (.+?) *$", text, re.MULTILINE)
    numbers = [each.split(" ")[0].rstrip(":") for each in titles]
    rules = [each.removeprefix("Rule ").split(":")[0] for each in titles if each[:5] == "Rule "]
    rows = re.findall(r"^\| *(\w+) *\|", text, re.MULTILINE)
    return frozenset(
        [*titles, *numbers, *(f"rule {each}" for each in rules), *(f"row {each}" for each in rows)]
    )


def known(place: str) -> frozenset[str]:
    """Everything that can be cited of a place."""
    return frozenset().union(*(labels(path) for path in PLACES[place]))


def cited(text: Prose) -> Iterator[tuple[int, str, str]]:
    """Line, place and label of each citation of a place."""
    for line, found in text.matches(SECTIONS):
        place = prose.words(found[1])
        place = place[0].lower() + place[1:] if place.startswith("R") else place
        kind = "row " if " row" in prose.words(found[0]) else ""
        yield from ((line, place, kind + each) for each in _numbers(found[2]))
    for line, found in text.matches(RULES):
        yield from ((line, "design", f"rule {each}") for each in _numbers(found[1]))
    for line, found in text.matches(TITLE):
        yield line, "design", prose.words(found[1])
    for line, found in text.matches(DECISION):
        yield line, "decision", found[1]
    for line, found in text.matches(QUIRK):
        yield line, "quirk", f"row {found[0]}"


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)*", text)


def problems(text: Prose, source: Path = ROOT / "tests") -> Iterator[tuple[int, str]]:
    """Line and sentence of each citation that leads nowhere; links are relative to the source's folder."""
    for line, place, label in cited(text):
        if label not in known(place):
            yield (
                line,
                f"{place} has no {label}; it has {', '.join(sorted(_alike(label, known(place))))}",
            )
    for line, found in text.matches(NOWHERE):
        yield line, f"{prose.words(found[0])} names no page of the repository"
    for line, found in text.matches(PAGE):
        yield from ((line, each) for each in _missing(ROOT / found[1], found[2]))
    for line, found in text.matches(LINK):
        yield from ((line, each) for each in _missing(source.parent / found[1], found[2]))
    for line, found in text.matches(HERE):
        if source.suffix == ".md":
            yield from ((line, each) for each in _missing(source, found[1]))


def missing_modules(text: Prose) -> Iterator[tuple[int, str]]:
    """Line and name of each file of Python, alone or below one of our folders, that is not there."""
    for line, found in text.matches(MODULE):
        first, _, rest = found[1].partition("/")
        ours = not rest or any((each / first).is_dir() for each in (ROOT, PACKAGE))
        if ours and not any(f"/{path}".endswith(f"/{found[1]}") for path in PYTHON):
            yield line, f"there is no {found[1]}"


def _missing(path: Path, title: str | None) -> Iterator[str]:
    path = path.resolve()
    if not path.is_file():
        yield f"there is no {path.relative_to(ROOT)}"
    elif title and prose.words(title) not in labels(path):
        yield f'{path.name} has no heading "{prose.words(title)}"'


def _alike(label: str, there: Iterable[str]) -> set[str]:
    """Labels of the same kind: rules for a rule, numbers for a number."""
    if label.startswith(("rule ", "row ")):
        return {each for each in there if each.startswith(label.split(maxsplit=1)[0] + " ")}
    return {each for each in there if each[:1].isdigit() == label[:1].isdigit() and " " not in each}


def test_every_citation_leads_somewhere() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path in (*PYTHON, *MARKDOWN)
        if path != Path(__file__)
        for text in prose.of_file(path)
        for line, sentence in problems(text, path)
    ]
    assert wrong == [], "\n".join(wrong)


def test_every_module_that_our_code_names_is_there() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path in PYTHON
        if "tests" not in path.relative_to(ROOT).parts
        for text in prose.of_file(path)
        for line, sentence in missing_modules(text)
    ]
    assert wrong == [], "\n".join(wrong)


def test_a_module_that_is_not_there_is_found() -> None:
    text = Prose(
        1, "See names.py, render/merge.py, and\nrender/nothing.py or nothing.py; pkg/cache.py."
    )
    assert [each for each, _ in missing_modules(text)] == [2, 2]


@pytest.mark.parametrize(
    "text",
    [
        "Rules: reference behaviour 3.3.",
        "Rules: reference behaviour 2.3, step 4, and 4.5 to 4.9;\nreference\nbehaviour 6.",
        "SDK contract 3.1, and Pulumi facts row 12; Pulumi facts rows 6, 13 and 14.",
        'Design rule 2, design rules 3 and 6, design "Names that are an API".',
        "Decision 0002 and decisions 0010; Q7.",
        'docs/kubernetes.md, "Whose a run is"',
    ],
)
def test_a_citation_that_resolves_is_no_problem(text: str) -> None:
    assert list(cited(Prose(1, text))) or "docs/" in text
    assert list(problems(Prose(1, text))) == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Rules: reference behaviour 3.14.", 1, "reference behaviour has no 3.14; it has 1, 1.0"),
        ("Rules: reference\nbehaviour 3.3 and\n9.1.", 1, "has no 9.1"),
        ("See\nSDK contract 9", 2, "SDK contract has no 9"),
        ("(Pulumi facts rows 6 and 66)", 1, "Pulumi facts has no row 66"),
        ("design rules 3 and 7", 1, "has no rule 7; it has rule 1, rule 2"),
        ('Design "Nothing"', 1, "has no Nothing"),
        ("decision 0199", 1, "decision has no 0199"),
        ("as Q77 says", 1, "quirk has no row Q77"),
        ("DESIGN.md, rule 1", 1, "DESIGN.md names no page"),
        ("Rules: spec/trainer-behaviour.md", 1, "names no page"),
        ("(section 4.1)", 1, "names no page"),
        ("Issue 3, deliverable 5", 1, "names no page"),
        ("docs/nothing.md", 1, "there is no docs/nothing.md"),
        ('docs/kubernetes.md, "Nothing"', 1, 'kubernetes.md has no heading "Nothing"'),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(text: str, line: int, said: str) -> None:
    found = list(problems(Prose(1, text)))
    assert [each for each, sentence in found if said in sentence] == [line]


def test_a_link_of_a_page_and_a_heading_of_its_own_are_looked_up() -> None:
    text = Prose(1, '[x](kubernetes.md), "Nothing", and\n(below, "Nowhere")')
    assert [line for line, _ in problems(text, DOCS / "local.md")] == [1, 2]


def test_comments_and_docstrings_are_read_with_their_lines() -> None:
    source = '"""One\ntwo."""\nX = 1\n"""Three."""\n# four\n# five\nY = 2  # six\n'
    texts = (
        'f(\n    "seven"\n)\nZ = \'"\' + "# eight \\" # nine"\n"a".b()\nr"""\\ten"""  # eleven\n'
    )
    assert sorted((each.line, each.text) for each in prose.of_python(source + texts)) == [
        (1, "One\ntwo."),
        (4, "Three."),
        (5, "four\nfive\nsix"),
        (13, "\\ten"),
        (13, "eleven"),
    ]


def test_every_dotted_name_of_ours_that_a_page_shows_is_there() -> None:
    shown = {
        (path.name, span)
        for path in MARKDOWN
        if path.name != "CHANGELOG.md"
        for span in page.spans(path)
    }
    assert sorted((name, span) for name, span in shown if not _exists(span)) == []


@pytest.mark.parametrize(
    "span", ["lifecycle.plan.plan(job)", "trainer_infra.TrainJob", "a.b", "main.py"]
)
def test_a_dotted_name_that_is_there_or_not_ours_is_no_problem(span: str) -> None:
    assert _exists(span)


@pytest.mark.parametrize(
    "span", ["lifecycle.plan.make(job)", "trainer_infra.nothing", "render.none"]
)
def test_a_dotted_name_that_is_not_there_is_found(span: str) -> None:
    assert not _exists(span)


def _exists(span: str) -> bool:
    """Whether a dotted name can be imported; any that is neither the package's nor a room's is not a concern."""
    found = re.match(r"(?:trainer_infra\.)?(\w+)(?:\.\w+)*", span)
    if not found or "." not in found[0] or span.startswith(f"{found[0]}."):
        return True
    is_room = any((PACKAGE / f"{found[1]}{suffix}").exists() for suffix in ("", ".py"))
    if found[0].endswith((".py", ".md", ".yaml")) or not (
        is_room or span.startswith("trainer_infra.")
    ):
        return True
    try:
        pkgutil.resolve_name(f"trainer_infra.{found[0].removeprefix('trainer_infra.')}")
    except (ImportError, AttributeError):
        return False
    return True
