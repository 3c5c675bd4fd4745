"""The site of the documentation, built as `make docs` does."""

import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import is_typeddict

import pytest
from lxml import html
from markdown_it import MarkdownIt

import trainer_infra
from tests.tools.conftest import ROOT
from tools import site_pages
from trainer_infra import report, storage

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PUBLIC = [
    *trainer_infra.__all__,
    *(
        f"{module.__name__.removeprefix('trainer_infra.')}.{name}"
        for module in (report, storage)
        for name in module.__all__
    ),
    "catalog.get",
]
"""What users import."""
MEND = (
    "a page that is in no section of `nav` in mkdocs.yml gets a line there, where its reader would "
    "look for it; links are written as the repository's hosting reads them, relative to the file"
)
INDENT = (
    "the site reads Markdown more strictly than the repository's hosting: a list needs an empty line "
    "before it, and what belongs to an item of a list is indented by four spaces"
)


def build(checkout: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    # Not --quiet: it counts no warnings either.
    command = [str(Path(sys.executable).parent / "mkdocs"), "build", "--site-dir", str(site)]
    # The package of the checkout, not that of this process.
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(checkout)}
    return subprocess.run(
        command, cwd=checkout, env=env, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, f"{done.stderr}\n{MEND}"
    return folder


def article(site: Path, page: str) -> html.HtmlElement:
    """What a page of the site says, without menus and the signs beside headings."""
    (found,) = html.parse(site / page).getroot().xpath("//article")
    for sign in found.xpath(".//a[@class='headerlink']"):
        sign.drop_tree()
    return found


def test_nothing_comes_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        loaded = html.parse(page).xpath("//@src | //link[not(@rel='canonical')]/@href")
        assert [url for url in loaded if re.match(r"\w+:|//", url)] == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//", style.read_text()) == [], style


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_what_the_hosting_of_the_repository_shows(path: Path, site: Path) -> None:
    def shapes(root: html.HtmlElement) -> dict[str, int]:
        kinds = ("h2", "h3", "li", "ol", "pre", "table", "td", "ul", "code")
        return {kind: len(root.xpath(f".//{kind}")) for kind in kinds}

    def code(root: html.HtmlElement) -> Counter[str]:
        return Counter(
            " ".join(each.text_content().split())
            for each in root.xpath(".//code[not(parent::pre)]")
        )

    name = path.relative_to(ROOT).as_posix().removeprefix("docs/").replace("README", "index")
    ours = article(site, f"{name.removesuffix('.md')}.html")
    text = MarkdownIt("commonmark").enable("table").render(path.read_text())
    theirs = html.fromstring(f"<div>{text}</div>")
    assert shapes(ours) == shapes(theirs), INDENT
    assert code(ours) == code(theirs)


def test_search_finds_what_tells_how_and_not_why_it_was_decided(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    pages = {each["location"].partition("#")[0] for each in index["docs"]}
    assert {"trainjob.html", "cli.html", "troubleshooting.html"} <= pages
    unwanted = [
        each for each in pages if re.match(r"decisions/|reference/|CHANGELOG|source/", each)
    ]
    assert unwanted == []


def test_a_link_that_names_a_file_shows_the_title_of_its_page(site: Path) -> None:
    for page in ("index.html", "trainjob.html", "data.html"):
        links = [each.text_content() for each in article(site, page).xpath(".//a")]
        assert [each for each in links if re.fullmatch(r"[\w/.-]+\.md", each)] == []
    assert "Data and volumes" in article(site, "trainjob.html").text_content()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_page_with_all_its_arguments(name: str, site: Path) -> None:
    shown = article(site, f"api/{name}.html").text_content()
    value = pkgutil.resolve_name(f"trainer_infra.{name}")
    arguments = (
        value.__annotations__ if is_typeddict(value) else inspect.signature(value).parameters
    )
    assert f"trainer_infra.{name}" in shown
    for argument in arguments:
        assert re.search(rf"\b{argument}\b", shown), argument


@pytest.fixture
def small_checkout(tmp_path: Path) -> Path:
    """The settings of the site with two pages; the package has none of the names at its top."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "docs" / "site", folder / "docs" / "site")
    shutil.copytree(ROOT / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    package = folder / "trainer_infra"
    package.mkdir()
    (package / "__init__.py").write_text("__all__ = ()\n")
    for each in site_pages.REFERENCE[len(trainer_infra.__all__) :]:
        module, name = each.split(".")
        with (package / f"{module}.py").open("a") as file:
            file.write(f'def {name}() -> None:\n    """Do nothing."""\n')
    settings = (ROOT / "mkdocs.yml").read_text()
    few = "nav: [index.md, cli.md, Python: api/*]\n"
    settings = re.sub(r"^watch: .*\n", "", settings, flags=re.MULTILINE)
    settings = re.sub(r"^nav:\n(?:[ -].*\n)+", few, settings, flags=re.MULTILINE)
    (folder / "mkdocs.yml").write_text(settings)
    (folder / "README.md").write_text("# Home\n\n[commands](docs/cli.md#a-command)\n")
    (folder / "docs" / "cli.md").write_text("# Commands\n\n## A command\n")
    return folder


def test_a_broken_page_fails_the_build_with_each_of_its_faults(
    small_checkout: Path, tmp_path: Path
) -> None:
    (small_checkout / "docs" / "lost.md").write_text(
        "# Lost\n\n[page](nowhere.md) [heading](cli.md#nowhere) [file](../tools/nowhere.py)\n"
        "[right](../tools/setup.py) [outside](../../pyproject.toml)\n"
    )
    with (small_checkout / "README.md").open("a") as readme:
        readme.write("\n[page of the root](docs/gone.md)\n")
    done = build(small_checkout, tmp_path / "site")
    assert done.returncode == 1
    faults = ("nowhere.md", "#nowhere", "../tools/nowhere.py", "../../pyproject.toml")
    for fault in (*faults, "docs/gone.md", "- lost.md"):
        assert fault in done.stderr
    assert done.stderr.count("WARNING") == len(faults) + 2, done.stderr
