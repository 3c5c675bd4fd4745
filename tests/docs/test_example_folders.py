"""The folders of examples/: what their READMEs, docs/examples.md and their programs promise; tests/e2e runs them."""

import json
import re
from pathlib import Path

import pytest
import yaml

from from_source.cluster import python
from tests.docs import page
from tests.docs.page import ROOT
from tests.docs.type_checker import type_errors

FOLDERS = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
PROJECTS = [each for each in FOLDERS if (each / "Pulumi.yaml").exists()]
OF_RUNS = '# mypy: disable-error-code="import-not-found"\n'
"""Some libraries are only where the programs train."""
PINNED = re.compile(r"\"([\w.\[\]-]+==[\w.]+)\"")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: each.name)
def test_its_readme_begins_with_the_commands_and_says_what_to_change(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    (commands,) = page.blocks(folder / "README.md")
    first, *_, last = commands.text.splitlines()
    assert first == f"cp -r examples/{folder.name} ~/{folder.name} && cd ~/{folder.name}"
    assert last == ("pulumi up" if folder in PROJECTS else "jupyter lab notebook.ipynb")
    assert text.index(commands.text) < 100
    for each in ("- **On a cluster**: ", "- **With GPUs**: "):
        assert text.count(each) == 1
    assert len(list(filter(None, text.splitlines()))) <= 16


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda each: each.name)
def test_its_project_is_named_for_its_folder_and_needs_no_account(folder: Path) -> None:
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    assert (project["name"], project["runtime"]) == (folder.name, "python")
    assert project["backend"] == {"url": "file://~"}
    target = "kubernetes" if folder.name == "mpi" else "local"
    assert project["config"] == {"trainer:target": target}


def test_the_types_of_their_programs_are_right(tmp_path: Path) -> None:
    for folder in PROJECTS:
        copy = tmp_path / f"{folder.name.replace('-', '_')}.py"
        copy.write_text((folder / "__main__.py").read_text() + OF_RUNS)
    assert type_errors(tmp_path) == ""


def test_the_page_lists_every_example_once_and_leads_to_it() -> None:
    rows = page.table(ROOT / "docs" / "examples.md", "example", "what it shows")
    assert sorted(row[0] for row in rows) == [
        f"[{each.name}](../examples/{each.name})" for each in FOLDERS
    ]


def test_packages_have_the_versions_that_other_tests_train_with() -> None:
    tried = {each for made in python.ENVIRONMENTS.values() for each in made.requirements}
    for folder in FOLDERS:
        programs = [*folder.glob("*.py"), *folder.glob("*.ipynb")]
        text = "\n".join(each.read_text() for each in programs).replace('\\"', '"')
        assert set(PINNED.findall(text)) - tried == set(), folder.name


def test_the_notebook_has_no_outputs() -> None:
    notebook = json.loads((ROOT / "examples" / "notebook" / "notebook.ipynb").read_text())
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert cells != []
    assert all((each["outputs"], each["execution_count"]) == ([], None) for each in cells)
