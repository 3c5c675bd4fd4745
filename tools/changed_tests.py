"""Which test files a change reaches: `python -m tools.changed_tests [COMMIT]`, for `make test CHANGED=1`.

A change is every file that differs from a commit (else from where this branch left main), committed or
not. grimp knows which rooms import what has changed; a file of tests is reached when it stands in the
folder of one of them, or imports one. What no import shows (the tools, what programs are started with) reaches everything.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

import grimp

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "trainer_infra"
LOADED: Final = {
    "trainer_infra.deploy.provider": "trainer_infra.deploy.operations",
    "trainer_infra.in_pod.main": "trainer_infra.in_pod.frameworks",
    "trainer_infra.local.supervision": "trainer_infra.local.supervisor",
}
"""A module, and what it imports or starts by a name: a module, or those of a package."""
READERS: Final[Mapping[str, tuple[str, ...]]] = {
    "docs": ("docs", "cli", "review", "rules"),
    "examples": ("docs", "deploy", "trainers"),
    "stacks": ("docs", "quickstart", "platform", "apiserver"),
    "policies": ("crossguard", "docs"),
}
"""Folders of the checkout that are no code of the package, and the folders of tests that read them."""
ON_CLUSTER: Final = ("e2e", "cluster_tool", "chaos", "soak")
"""Folders of tests that `make test` leaves out."""
_IMPORT: Final = re.compile(
    rf"^\s*from ((?:{PACKAGE}|tests)[\w.]*) import (\([^)]*\)|[\w, ]*)", re.MULTILINE
)
ALWAYS: Final = ("tests/docs/test_docstrings.py", "tests/test_house.py")
"""They read every source and every page."""


def main() -> int:
    """Print the files, one a line; `tests` where the change reaches everything."""
    try:
        since = sys.argv[1] if len(sys.argv) > 1 else _git("merge-base", "HEAD", _main_branch())[0]
        differing = _git("diff", "--name-only", "--no-renames", since)
        unknown_to_git = _git("ls-files", "--others", "--exclude-standard")
        print(*reached_tests([*differing, *unknown_to_git]), sep="\n")
    except subprocess.CalledProcessError as error:
        print(f"git cannot say what has changed: {error.stderr.strip()}", file=sys.stderr)
        return 1
    return 0


def _main_branch() -> str:
    """The branch that a change is merged into: the remote's where there is one."""
    return next(iter(_git("for-each-ref", "--format=%(refname)", "refs/remotes/*/main")), "main")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def reached_tests(changed: Iterable[str]) -> list[str]:
    """What a change of these files reaches, as pytest takes it."""
    rooms: set[str] = set()
    others: set[str] = set()
    for each in map(PurePosixPath, changed):
        top, *below = each.parts
        if top == PACKAGE and below:
            rooms |= _rooms_above(each)
        elif top == "tests" and len(below) > 1:
            others.add(f"tests.{below[0]}")
        elif top in READERS or (top.endswith(".md") and not below):
            others |= {f"tests.{folder}" for folder in READERS.get(top, READERS["docs"])}
        elif str(each) not in ALWAYS:
            return ["tests"]
    reached = {*others, *(f"{top}.{room}" for room in rooms for top in (PACKAGE, "tests"))}
    return [*ALWAYS, *sorted(str(test.path) for test in _test_files() if test.needs & reached)]


def _rooms_above(path: PurePosixPath) -> set[str]:
    """The rooms that change with a file of the package; a file of data is that of all beside it."""
    graph = _graph()
    place = path if path.suffix == ".py" else path.parent
    module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
    changed = {each for each in graph.modules if f"{each}.".startswith(f"{module}.")}
    if path.suffix == ".py":
        changed &= {module}
    above = {name for each in changed for name in graph.find_downstream_modules(each)}
    return {path.parts[1].removesuffix(".py")} | {
        name.split(".")[1] for name in above | changed if "." in name
    }


@cache
def _graph() -> grimp.ImportGraph:
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    for importer, name in LOADED.items():
        for each in {name, *graph.find_descendants(name)}:
            graph.add_import(importer=importer, imported=each)
    return graph


@dataclass(frozen=True)
class ImportingFile:
    """A file of tests, and what it needs: rooms (`trainer_infra.render`) and folders (`tests.cli`)."""

    path: Path
    needs: frozenset[str]


def _test_files() -> list[ImportingFile]:
    found = [
        path.relative_to(ROOT)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.relative_to(ROOT).parts[1] not in ON_CLUSTER
    ]
    return [ImportingFile(path, _needs(path)) for path in found if str(path) not in ALWAYS]


def _needs(path: Path) -> frozenset[str]:
    """What a file of tests imports, and what the files of tests that it imports do."""
    found: set[str] = set()
    ahead = [path, *(each / "conftest.py" for each in path.parents[:-2])]
    seen: set[Path] = set()
    while ahead:
        file = ahead.pop()
        if file in seen or not (ROOT / file).exists():
            continue
        seen.add(file)
        for name in _imported(file):
            parts = name.split(".")
            found.add(".".join(parts[:2]))
            if parts[0] == "tests":
                ahead += [Path(*parts).with_suffix(".py"), Path(*parts[:-1]).with_suffix(".py")]
    return frozenset({*found, ".".join(path.parts[:2])})


@cache
def _imported(file: Path) -> frozenset[str]:
    """The names that a file imports of the package and of tests, with their modules.

    Also in the texts of programs that a test runs, so the file is not parsed.
    """
    return frozenset(
        f"{module}.{name}"
        for module, names in _IMPORT.findall((ROOT / file).read_text("utf-8"))
        for name in re.findall(r"\w+", names)
    )


if __name__ == "__main__":
    sys.exit(main())
