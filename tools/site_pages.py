"""Pages of the documentation's site that are no files of docs/.

The Markdown files of the root are pages, README.md the first one. Each public name of the package
has a page of its docstrings. A file or folder of the repository that a page links to is a page that
shows it. So every link works in the repository and on the site, and MkDocs checks all of them.
"""

import os
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import trainer_infra

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = ROOT / "docs"
HOME: Final = {"README.md": "index.md"}
"""Names of the root's pages where they differ from those of the files."""
REFERENCE: Final = (
    *trainer_infra.__all__,
    "callbacks.HuggingFaceCallback",
    "callbacks.LightningCallback",
    "callbacks.TrainingLoop",
    "callbacks.XGBoostCallback",
    "callbacks.steps",
    "report.report",
    "storage.output",
    "storage.mounted",
    "catalog.get",
)
"""What users import: names of the package, and what four of its modules have."""
WITHOUT_MENU: Final = "---\nhide: [navigation]\n---\n\n"
SOURCE: Final = "source"
LINK: Final = re.compile(r"```.*?```|`[^`\n]*`|(?<=\]\()(?!\w+:)([^)\s#]+)(?=[)#])", re.DOTALL)
"""A link's target as its one group; code is passed over."""
ROW: Final = re.compile(r"^\|.*", re.MULTILINE)
NAMED: Final = re.compile(r"```.*?```|\[([\w/.-]+\.md)\](?=\(([^)\s#:]+)[)#])", re.DOTALL)
"""A link whose text is the name of a file, and its target; code is passed over."""
TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
UNSEARCHED: Final = ("decisions/", "reference/", "CHANGELOG.md")
"""Pages that the site's search leaves out: they tell why and what was, and have the words of every question."""
CODE: Final = re.compile(r"`[^`\n]*`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder where `nav` says `folder/*`."""
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav: Any) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(below) for title, below in nav.items()}
    if isinstance(nav, list):
        return [_expanded(each) for each in nav]
    if nav == "api/*":
        return [{name: f"api/{name}.md"} for name in REFERENCE]
    if nav.endswith("/*"):
        return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob(f"{nav}.md"))
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for path in sorted(ROOT.glob("*.md")):
        name = HOME.get(path.name, path.name)
        content = (WITHOUT_MENU if name == "index.md" else "") + path.read_text("utf-8")
        files.append(File.generated(config, name, content=content))
    for name in REFERENCE:
        directive = f"::: trainer_infra.{name}\n"
        files.append(File.generated(config, f"api/{name}.md", content=directive))
    pages = files.documentation_pages()
    for linked in sorted({path for file in pages for path in _links(file)}):
        if _uri(linked).startswith(SOURCE):
            files.append(File.generated(config, _uri(linked), content=_shown(ROOT / linked)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links to files of the repository links to pages of the site, and table cells right.

    A link that shows the name of a page's file shows the page's title here.
    """
    del config, files
    here = page.file.src_uri
    if here.startswith(UNSEARCHED):
        page.meta["search"] = {"exclude": True}

    def title(found: re.Match[str]) -> str:
        path = found[1] and _path(here, found[2])
        heading = TITLE.search((ROOT / path).read_text("utf-8")) if path else None
        return f"[{heading[1].replace('`', '')}]" if heading else found[0]

    def target(found: re.Match[str]) -> str:
        path = found[1] and _path(here, found[1])
        return os.path.relpath(_uri(path), Path(here).parent) if path else found[0]

    return ROW.sub(_row, LINK.sub(target, NAMED.sub(title, markdown)))


def _row(found: re.Match[str]) -> str:
    """A row of a table, where code on the repository's hosting has a backslash before each bar."""
    return CODE.sub(lambda code: code[0].replace("\\|", "|"), found[0])


def _links(file: File) -> set[str]:
    """The files and folders of the repository that a page links to."""
    links = {found[1] for found in LINK.finditer(file.content_string) if found[1]}
    return {path for link in links if (path := _path(file.src_uri, link))}


def _path(uri: str, link: str) -> str:
    """What a link of a page leads to in the repository; nothing where that is not there."""
    at_root = {HOME.get(path.name, path.name) for path in ROOT.glob("*.md")}
    found = (ROOT if uri in at_root else (DOCS / uri).parent) / link
    path = Path(os.path.normpath(found))
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) and path.exists() else ""


def _uri(path: str) -> str:
    """The page of the site that shows a file of the repository."""
    if path.endswith(".md") and "/" not in path:
        return HOME.get(path, path)
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{SOURCE}/{path}.md"


def _shown(path: Path) -> str:
    """A file of the repository, or all of a folder's, as a page."""
    parts = [f"---\nsearch: {{exclude: true}}\n---\n\n# {path.relative_to(ROOT)}\n"]
    inside = [each for each in sorted(path.rglob("*.*")) if "__pycache__" not in each.parts]
    for file in inside or [path]:
        if inside:
            parts.append(f"## {file.relative_to(path)}\n")
        language = {".py": "python", ".sh": "sh", ".yaml": "yaml"}.get(file.suffix, "text")
        parts.append(f"````` {language}\n{file.read_text('utf-8')}\n`````\n")
    return "\n".join(parts)
