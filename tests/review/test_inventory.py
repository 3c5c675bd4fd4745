"""Every file of a tree is in the inventory once, and what its files and its builds deploy is judged.

Generated trees of manifests, data, kustomizations, charts, links and hidden folders, with the real tools.
"""

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer_infra.review import file_text, sources
from trainer_infra.review.inventory import Use
from trainer_infra.review.source_objects import SourceObjects

OBJECT: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata: {{a: b}}\n"
PATCHED: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata: {{patched: c}}\n"
TEMPLATE: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}-{{{{ .Values.mode }}}}\ndata: {{a: b}}\n"
DATA: Final = {
    "README.md": "# read me\n",
    "train.json": '{"a": 1}\n{"a": 2}\n',
    "tsconfig.json": "{ // a comment\n}\n",
    "ci.yml": "on: push\n",
    "task.yml": "{% if a %}\nkind: x\n{% endif %}\n",
    ".pre-commit-config.yaml": "repos: []\n",
    "broken.yaml": "a: [\n",
    "job.yaml.j2": "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ name }}}\n",
    "notes.txt": "kind words\n",
}
FOLDERS: Final = (
    "a",
    "b/c",
    "deploy",
    "charts",
    "templates",
    "crds",
    "prod",
    "node_modules",
    ".hidden",
)
NOT_READ: Final = ("node_modules", ".hidden")


@dataclass
class Tree:
    """A tree that is being written."""

    top: Path
    draw: Callable[..., Any]
    expected: set[str] = field(default_factory=set)
    """Names of objects that a file deploys as it is written."""
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"o{self.count}"

    def write(self, path: str, text: str) -> None:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def manifest(self, folder: str) -> tuple[str, str]:
        """File and object of a manifest in some form."""
        name = self.name()
        suffix = self.draw(st.sampled_from([".yaml", ".yml", ".json", ".YAML"]))
        text = OBJECT.format(name)
        if suffix == ".json":
            text = json.dumps(yaml.safe_load(text))
        self.write(f"{folder}/{name}{suffix}", text)
        return f"{name}{suffix}", name

    def loose(self, folder: str) -> None:
        """A manifest that nothing builds."""
        _, name = self.manifest(folder)
        if not set(NOT_READ) & set(folder.split("/")):
            self.expected.add(name)

    def kustomization(self, folder: str, below: str = "") -> None:
        """A kustomization with some of what there is; `below` is one that it builds upon."""
        files = [self.manifest(folder) for _ in range(self.draw(st.integers(1, 2)))]
        value: dict[str, Any] = {"resources": [file for file, _ in files]}
        if below:
            value["resources"].append(os.path.relpath(below, folder))
        if self.draw(st.booleans()):
            self.write(f"{folder}/patch.yaml", PATCHED.format(files[0][1]))
            value["patches"] = [{"path": "patch.yaml"}]
        if self.draw(st.booleans()):
            self.write(f"{folder}/app.conf", "x = 1\n")
            self.write(f"{folder}/job-in-data.yaml", OBJECT.format(data := self.name()))
            self.expected.add(data)
            value["configMapGenerator"] = [
                {"name": self.name(), "files": ["app.conf", "job=job-in-data.yaml"]}
            ]
        if self.draw(st.booleans()):
            self.write(
                f"{folder}/part/kustomization.yaml",
                "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [p.yaml]\n",
            )
            self.write(f"{folder}/part/p.yaml", OBJECT.format(self.name()))
            value["components"] = ["part"]
        # Words that are names of folders, too.
        value["commonAnnotations"] = {
            "folder": self.draw(st.sampled_from(FOLDERS)),
            "file": files[0][0],
        }
        value |= self.draw(
            st.sampled_from([{}, {"namePrefix": f"{self.name()}-"}, {"namespace": "prod"}])
        )
        if self.draw(st.booleans()):
            chart = self.name()
            self.chart(f"{folder}/charts/{chart}", chart)
            value["helmCharts"] = [
                {"name": chart, "releaseName": self.name(), "valuesFile": "for-helm.yaml"}
            ]
            self.write(f"{folder}/for-helm.yaml", f"mode: {self.name()}\n")
        self.write(f"{folder}/kustomization.yaml", yaml.safe_dump(value))

    def chart(self, folder: str, name: str, *, is_outer: bool = True) -> None:
        """A chart with templates, crds, files of values, a part, and files beside them."""
        self.write(f"{folder}/Chart.yaml", f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n")
        self.write(f"{folder}/values.yaml", "mode: own\n")
        self.write(f"{folder}/templates/t.yaml", TEMPLATE.format(self.name()))
        self.write(
            f"{folder}/templates/sometimes.yaml",
            '{{ if eq .Values.mode "never" }}\n' + OBJECT.format("never") + "{{ end }}\n",
        )
        self.write(f"{folder}/templates/NOTES.txt", "{{ .Values.mode }}\n")
        if self.draw(st.booleans()):
            self.write(f"{folder}/crds/c.yaml", OBJECT.format(crd := self.name()))
            self.expected.add(crd)
        for each in self.draw(
            st.sets(st.sampled_from(["values-prod.yaml", "values/eu.yaml", "ci/a-values.yaml"]))
        ):
            if is_outer:
                self.write(f"{folder}/{each}", f"mode: {self.name()}\n")
        self.loose(
            f"{folder}/{self.draw(st.sampled_from(['deploy', 'examples', 'charts/_old', '.']))}"
        )
        if is_outer and self.draw(st.booleans()):
            self.chart(f"{folder}/charts/part", "part", is_outer=False)

    def link(self) -> None:
        """A link: to a file, a folder, out of the tree, to itself, to nowhere."""
        inside = sorted(each for each in self.top.rglob("*") if not each.is_symlink())
        out = self.top.parent / "out"
        to = self.draw(
            st.sampled_from([*inside, self.top, out, out / "o.yaml", Path("nowhere"), Path()])
        )
        name = self.name()
        link = self.top / f"{name}{self.draw(st.sampled_from(['', '.yaml']))}"
        link.symlink_to(to if str(to) != "." else link)


def written(top: Path, draw: Callable[..., Any]) -> Tree:
    tree = Tree(top, draw)
    (top.parent / "out").mkdir(exist_ok=True)
    (top.parent / "out" / "o.yaml").write_text(OBJECT.format("outside"))
    for folder in draw(st.lists(st.sampled_from(FOLDERS), max_size=4)):
        tree.loose(folder)
    for each in draw(st.sets(st.sampled_from(sorted(DATA)), max_size=4)):
        tree.write(f"{draw(st.sampled_from(['.', 'a', 'deploy']))}/{each}", DATA[each])
    for number in range(draw(st.integers(0, 2))):
        folder = draw(st.sampled_from(["k", "deploy/k", "a/k"])) + str(number)
        tree.kustomization(f"{folder}/base")
        if draw(st.booleans()):
            tree.kustomization(f"{folder}/over", f"{folder}/base")
    for number in range(draw(st.integers(0, 1))):
        place = draw(st.sampled_from([".", "charts/t", "deploy/t"]))
        tree.chart(place, f"t{number}")
    # Of a chart, helm follows every link.
    for _ in range(0 if (top / "Chart.yaml").exists() else draw(st.integers(0, 3))):
        tree.link()
    return tree


def files_below(top: Path) -> Iterator[str]:
    """Every file and every link of a tree, as a check of `.` names it."""
    for folder, folders, files in os.walk(top):
        links = [each for each in folders if Path(folder, each).is_symlink()]
        for each in (*files, *links):
            yield os.path.relpath(Path(folder, each), top)


def built_names(top: Path, programs: dict[str, Path]) -> Iterator[str]:
    """Names of all objects that kustomize builds and helm renders in any folder of the tree that is read."""
    folders = (each for each in top.rglob("*") if each.is_dir() and not each.is_symlink())
    for folder in (top, *sorted(folders)):
        is_built_upon = folder.name == "part" or (
            folder.name == "base" and (folder.parent / "over").is_dir()
        )
        if (folder / "kustomization.yaml").is_file() and not is_built_upon:
            command = [programs["kubectl"], "kustomize", "--enable-helm", folder]
            yield from output_names(command)
        if (folder / "Chart.yaml").is_file() and folder.parent.name != "charts":
            names = ("values-prod.yaml", "values/eu.yaml", "ci/a-values.yaml")
            values = [folder / each for each in names if (folder / each).exists()]
            for file in (None, *values):
                options = ["--values", file] if file else []
                yield from output_names(
                    [programs["helm"], "template", folder, "--include-crds", *options]
                )


def output_names(command: list[Any]) -> Iterator[str]:
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, check=True, text=True
    )
    yield from (each["metadata"]["name"] for each in yaml.safe_load_all(done.stdout) if each)


def assert_each_file_is_there_once(found: SourceObjects, top: Path) -> None:
    entries = Counter(each.path for each in found.files)
    assert max(entries.values(), default=1) == 1
    for file in files_below(top):
        above = [each for each in entries if file == each or file.startswith(f"{each}/")]
        below = [each for each in entries if each.startswith(f"{file}/")]
        assert len(above) == 1 or (below and not above), file
    assert [each for each in entries if not os.path.lexists(top / each)] == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_file_is_in_the_inventory_once_and_what_is_deployed_is_judged(
    kubectl_program: Path, helm_program: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        programs = {"kubectl": kubectl_program, "helm": helm_program}
        path = Path(scratch, "bin")
        path.mkdir()
        for name, program in programs.items():
            (path / name).symlink_to(program)
        monkeypatch.setenv("PATH", str(path))
        top = Path(scratch, "top")
        top.mkdir()
        tree = written(top, data.draw)
        monkeypatch.chdir(top)
        found = sources.read_sources(["."])

        assert found.problems == ()
        assert_each_file_is_there_once(found, top)
        judged = {each.value["metadata"]["name"] for each in found.documents}
        assert tree.expected <= judged
        assert set(built_names(top, programs)) <= judged
        states = {each.path: each.use for each in found.files}
        assert {Use.JUDGED, Use.BUILT} >= {
            states.get(each.file, Use.BUILT) for each in found.documents
        }
        monkeypatch.chdir("/")


@pytest.mark.parametrize(
    "name",
    ["job.txt", "job.yaml.j2", "job.yml.tmpl", "job.json.erb", "job.jsonnet", "job.yaml.disabled"],
)
def test_an_object_in_a_file_that_is_not_named_as_a_manifest_is_said(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("{apiVersion: 'v1',\nkind: 'Pod'}\n")
    (tmp_path / "words.txt").write_text("kind: of a text\n")
    found = sources.read_sources([str(tmp_path)])
    why = {Path(each.path).name: each.why for each in found.files}
    assert why == {name: file_text.NOT_NAMED, "words.txt": ""}


def test_a_kustomization_may_have_such_a_file(
    kubectl_program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl_program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    tmp_path /= "jobs"
    tmp_path.mkdir()
    (tmp_path / "job.txt").write_text(OBJECT.format("a"))
    (tmp_path / "kustomization.yaml").write_text("resources: [job.txt]\n")
    found = sources.read_sources([str(tmp_path)])
    assert [each.value["metadata"]["name"] for each in found.documents] == ["a"]
    assert {each.use for each in found.files} == {Use.BUILT}
