"""The rules of the house that no linter checks: sizes, public names, paths in the documentation."""

import ast
import dataclasses
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest
import typer.core
import typer.main

import trainer_infra
from trainer_infra.cli import main
from trainer_infra.render import phases
from trainer_infra.render.deviation import Deviation

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "trainer_infra").rglob("*.py"))
BLOCKS: Final = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""Nodes that statements stand in."""
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of the package."""

    place: str
    name: str
    lines: int
    """Its docstring not counted."""
    is_inside: bool
    """Whether it stands in another statement: a class, a function."""


@dataclasses.dataclass(slots=True)
class Names:
    """What the package's sources declare, kept instead of their trees, which are 300 MB."""

    functions: list[Function]
    classes: list[str]
    imported_as: list[str]
    """File and name, for each `from ... import ... as`."""
    without_docstring: list[str]


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def package_names() -> Names:
    """One walk over each source for all tests.

    What they look for are statements, which stand in other statements only: expressions, most of a
    tree, are passed by.
    """
    found = Names([], [], [], [])
    for path in SOURCES:
        module, place = ast.parse(text_of(path)), str(path.relative_to(ROOT))
        if module.body and not ast.get_docstring(module):
            found.without_docstring.append(place)
        left: list[ast.AST] = [module]
        while left:
            parent = left.pop()
            inside = [each for each in ast.iter_child_nodes(parent) if isinstance(each, BLOCKS)]
            left += inside
            for each in inside:
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                    is_inside = parent is not module
                    made = Function(f"{place}:{each.lineno}", each.name, lines_of(each), is_inside)
                    found.functions.append(made)
                elif isinstance(each, ast.ClassDef):
                    found.classes.append(each.name)
                elif isinstance(each, ast.ImportFrom):
                    found.imported_as += [f"{place}: {name.asname}" for name in each.names]
    return found


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    docstring = 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        docstring = (first.end_lineno or 0) - first.lineno + 1
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def places_of(pattern: str, path: Path) -> list[str]:
    """File, line and text of all that a pattern finds in a file."""
    text = text_of(path)
    lines = (
        (text.count("\n", 0, found.start()) + 1, found[0]) for found in re.finditer(pattern, text)
    )
    return [f"{path.relative_to(ROOT)}:{line}: {said}" for line, said in lines]


def test_no_function_is_over_60_lines_and_no_file_over_400() -> None:
    long = [each for each in package_names().functions if each.lines > 60]
    big = [str(path.relative_to(ROOT)) for path in SOURCES if text_of(path).count("\n") > 400]
    assert (long, big) == ([], [])


ONE_NAME_OF_TWO: Final = {
    *("ClusterTrainingRuntime", "TrainJob", "TrainingRuntime"),
    *("Coscheduling", "Volcano"),
    "XGBoost",
}
"""Kinds of the API that are resources of Pulumi too, and schedulers that are a runtime's policy and a
component, as users know them."""
NOUNS_ALL_THE_SAME: Final = {"deepspeed", "markdown", "privileged", "screen", "unknown"}
"""Modules named for a library, a field of a pod, a terminal, and what is not known yet, as engines call it."""

ANSWERS_OF_THE_API: Final = {"Expired", "Interrupted", "Refused", "Unauthorized"}
"""Errors, named as HTTP and Kubernetes name them."""


def test_at_most_twelve_of_a_hundred_lines_of_code_are_imports() -> None:
    imports = code = 0
    for path in SOURCES:
        of_imports: set[int] = set()
        of_texts: set[int] = set()
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                of_imports |= set(range(node.lineno, (node.end_lineno or 0) + 1))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                of_texts |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        lines = enumerate(map(str.strip, text_of(path).splitlines()), 1)
        code += sum(line[:1] not in {"", "#"} and at not in of_texts for at, line in lines)
        imports += len(of_imports)
    assert imports <= 0.12 * code, f"{imports} of {code}: fold modules that have one importer"


def listing() -> list[str]:
    """The files of the package, as a stranger sees them."""
    return [str(path.relative_to(ROOT / "trainer_infra")) for path in SOURCES]


def test_a_class_name_is_that_of_one_class() -> None:
    counts = Counter(package_names().classes)
    assert {name for name, count in counts.items() if count > 1} == ONE_NAME_OF_TWO


def test_no_class_is_named_by_a_bare_participle() -> None:
    participle = re.compile(r"_?[A-Z][a-z]+(ed|wn|uilt|aid)")
    wrong = set(filter(participle.fullmatch, package_names().classes))
    assert wrong - ANSWERS_OF_THE_API == set()


def test_at_most_two_of_five_public_functions_have_a_name_of_one_word() -> None:
    functions = package_names().functions
    names = [each.name for each in functions if not each.is_inside and each.name[0] != "_"]
    assert sum("_" not in name for name in names) <= 0.4 * len(names)


def test_modules_are_named_by_nouns() -> None:
    participle = re.compile(r"[a-z]+(ed|wn|uilt|ound|aid|old|een)")
    words = {"around", "by", "fresh", "look", "of", "present", "together", "with"}
    wrong = [
        path
        for path in listing()
        if (stem := Path(path).stem) not in NOUNS_ALL_THE_SAME
        and (stem in words or participle.fullmatch(stem))
    ]
    assert wrong == []


def test_no_module_is_imported_as_a_preposition() -> None:
    preposition = re.compile(r".*: (of(_\w+)?|as_\w+)")
    assert list(filter(preposition.fullmatch, package_names().imported_as)) == []


LOOK_UPS: Final = {
    "PET_NNODES": (r"plugins/torch", "render/plugins/torch.py", "PET_NNODES"),
    "the gate's patience": (r"operations/gate", "deploy/operations/gate.py", "UNREACHABLE_FOR"),
    "a new scheduler": (r"plugins/__init__", "render/plugins/__init__.py", "volcano.PLUGIN"),
    "OOM to reason": (r"failure_reason", "lifecycle/failure_reason.py", "OOMKilled"),
    "where a local run's state is written": (r"home_folders", "home_folders.py", "STATE_HOME"),
    "activeDeadlineSeconds on Kubernetes": (
        r"cluster/.*active_deadline_seconds",
        "cluster/provider/active_deadline_seconds.py",
        "activeDeadlineSeconds",
    ),
    "the eight hex digits of a name": (r"runs/identity", "runs/identity.py", "8 hex"),
    "secret in plain text": (
        r"leaked_secret",
        "deploy/operations/leaked_secrets.py",
        "in plain text",
    ),
    "Kueue's label on the JobSet": (
        r"plugins/kueue",
        "render/plugins/kueue.py",
        "KUEUE_QUEUE_LABEL",
    ),
    "SARIF level": (r"sarif", "review/sarif.py", '"level"'),
    "label of the stack": (r"run_labels", "cluster/run_labels.py", "STACK_LABEL"),
    "mpirun or torchrun": (r"launcher", "render/launcher.py", "mpirun"),
}
"""What is looked for: the words to look by, the one file that they lead to, and what stands in it."""


@pytest.mark.parametrize("question", LOOK_UPS)
def test_the_listing_alone_leads_to_one_file(question: str) -> None:
    words, answer, text = LOOK_UPS[question]
    assert [path for path in listing() if re.search(words, path)] == [answer]
    assert text in (ROOT / "trainer_infra" / answer).read_text()


def test_a_file_with_tests_of_make_soak_has_one_in_ci() -> None:
    kept, left_out = {}, {}
    files = (ROOT / "tests").rglob("test_*.py")
    for path in (each for each in files if "pytest.mark.soak" in text_of(each)):
        tests = [
            [ast.unparse(each) for each in node.decorator_list]
            for node in ast.parse(text_of(path)).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        left_out[path] = sum("pytest.mark.soak" in each for each in tests)
        kept[path] = len(tests) - left_out[path]
    assert sum(left_out.values()) > 20
    assert [path for path, count in kept.items() if left_out[path] and not count] == []


def test_a_test_is_named_by_what_it_shows() -> None:
    """A word alone is a topic; a sentence has at least two."""
    named = re.compile(r"^def (test_[a-z0-9]+)\(", re.MULTILINE)
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert [(str(path), name) for path in files for name in named.findall(text_of(path))] == []


def test_every_module_says_what_it_is() -> None:
    assert package_names().without_docstring == []


def test_a_sentence_names_its_actor() -> None:
    vague = r"(?i)\b(?:somebody|nobody|who(?:so)?ever|counts not)\b"
    assert [each for path in (*SOURCES, *DOCUMENTS) for each in places_of(vague, path)] == []


def test_every_public_name_can_be_imported() -> None:
    assert dir(trainer_infra) == sorted(set(trainer_infra.__all__))
    assert len(set(trainer_infra.__all__)) == len(trainer_infra.__all__)
    for name in trainer_infra.__all__:
        assert getattr(trainer_infra, name).__name__ == name


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Trainjob'"):
        trainer_infra.Trainjob  # noqa: B018


def test_every_path_that_the_documentation_names_exists() -> None:
    rooms = (
        "trainer_infra|tests|docs|tools|from_source|stacks|gitops|policies|render|lifecycle|local"
    )
    missing = [
        place
        for document in DOCUMENTS
        for place in places_of(rf"`(?:{rooms})/[\w./-]*`", document)
        if not is_there(place.split("`")[1])
    ]
    assert missing == []


def is_there(path: str) -> bool:
    return any((folder / path).exists() for folder in (ROOT, ROOT / "trainer_infra"))


def missing_paths(text: str) -> list[str]:
    """Paths in the text of which there is none; `<...>` stands for any name."""
    paths = re.findall(r"`((?:trainer_infra|tests|docs|tools|from_source)/[^`\s]+)`", text)
    return [path for path in paths if not any(ROOT.glob(re.sub("<[^>]*>", "*", path)))]


def test_the_files_for_a_new_rule_plugin_or_engine_exist() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Add one")[1].split("\n## ")[0]
    assert missing_paths(section) == []
    assert section.count("trainer_infra/") >= 14


def test_a_path_of_which_there_is_none_is_found() -> None:
    text = "`trainer_infra/rules/<group>/<rule>.py` `trainer_infra/rule/<x>.py` `docs/none.md`"
    assert missing_paths(text) == ["trainer_infra/rule/<x>.py", "docs/none.md"]


def test_no_modules_import_one_another_in_a_circle_not_even_for_types() -> None:
    """What import-linter does not see: it leaves the imports of type checkers out."""
    graph = grimp.build_graph("trainer_infra", cache_dir=None)
    packages = [each for each in graph.modules if graph.find_children(each)]
    assert [each for each in packages if graph.nominate_cycle_breakers(each)] == []


def test_rooms_stand_in_the_order_of_their_layers() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text().split("## Rooms")[1].split("## Which")[0]
    rows = [
        re.findall(r"`(\w+)/?`", row) for row in re.findall(r"^- (`[^:]*):", page, re.MULTILINE)
    ]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [set(re.findall(r"\w+", each)) for each in contracts["contracts"][0]["layers"]]
    level = {room: -number for number, layer in enumerate(layers) for room in layer}
    rooms = [room for row in rows for room in row]
    assert sorted(rooms) == sorted(level)
    assert [level[room] for room in rooms] == sorted(level.values())


def test_every_word_of_the_glossary_says_in_one_line_where_it_stands() -> None:
    words = (ROOT / "ARCHITECTURE.md").read_text().split("## Words")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`|]+)` \|$", words, re.MULTILINE)
    assert [word for word, _ in rows] == sorted({word for word, _ in rows})
    assert [path for _, path in rows if not is_there(path)] == []
    assert len(rows) == words.count("\n|") - 2


def test_every_field_of_a_plugin_is_a_row_of_its_page() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text()
    rows = re.findall(r"^\|[^|]*\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [field.name for field in dataclasses.fields(phases.Plugin)]


def test_every_deviation_is_a_row_of_the_compatibility_page_asked_for_and_tested() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text()
    row = re.compile(r"^\| ([\w-]+) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
    better = page.split("## Better")[1].split("## Kept")[0]
    code = "".join(text_of(path) for path in SOURCES)
    tests = "".join(text_of(path) for path in (ROOT / "tests").rglob("test_*.py"))

    assert row.findall(better) == ["id", *Deviation]
    assert {each for each in row.findall(page) if each[0] == "Q"} == {
        f"Q{number}" for number in range(1, 24)
    }
    assert [each for each in Deviation if f"Deviation.{each.name}" not in code] == []
    assert [each for each in Deviation if not re.search(rf"def test_{_word(each)}_", tests)] == []


def _word(deviation: Deviation) -> str:
    return deviation.lower().replace("-", "_")


def test_every_target_that_the_readme_names_exists() -> None:
    readme = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z0-9-]+)", readme)) <= targets


def test_every_command_has_a_section_of_its_page() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    headings = " ".join(re.findall(r"^## (`.*`)", page, re.MULTILINE))
    command = typer.main.get_command(main.app)
    assert isinstance(command, typer.core.TyperGroup)
    assert {*re.findall(r"`([a-z]+)`", headings)} == {*command.commands}


def test_every_make_target_that_the_documentation_names_exists() -> None:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [
        (str(path.relative_to(ROOT)), target)
        for path in DOCUMENTS
        for target in re.findall(r"`make ([a-z0-9-]+)", text_of(path))
    ]
    assert [each for each in named if each[1] not in targets] == []


def test_the_changelog_begins_with_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == version


def test_the_quickstart_is_a_program_of_fifteen_lines() -> None:
    program = (ROOT / "stacks" / "quickstart" / "__main__.py").read_text()
    lines = [line for line in program.splitlines() if line.strip() and not line.startswith('"""')]
    assert len(lines) <= 15
