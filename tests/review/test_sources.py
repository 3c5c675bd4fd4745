"""Paths -> documents: what is read, what is passed over, and what cannot be read."""

import io
import sys
from pathlib import Path

import pytest

from trainer_infra.review import file_text, source_objects, sources
from trainer_infra.review.documents import Document
from trainer_infra.review.inventory import Use
from trainer_infra.review.source_objects import SourceObjects

OBJECT = "apiVersion: v1\nkind: A\nmetadata: {name: %s}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the tests are, and there is no tool but what a test puts there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def write(name: str, text: str) -> str:
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return name


def named(read: SourceObjects) -> list[tuple[str, str]]:
    """File and name of each object."""
    return [(each.file, each.value["metadata"]["name"]) for each in read.documents]


def told(read: SourceObjects) -> dict[str, tuple[str, str]]:
    """What became of each file, and why."""
    return {each.path: (each.use, each.why) for each in read.files}


def passed_over(read: SourceObjects) -> dict[str, str]:
    """What was passed over, and why."""
    return {each.path: each.why for each in read.files if each.use == Use.PASSED_OVER}


def test_a_folder_is_read_with_the_folders_in_it_and_hidden_ones_are_not() -> None:
    for name in ("b.yml", "a.yaml", "c/d.json", ".git/x.yaml", ".c/y.yaml", "node_modules/z.yaml"):
        write(name, OBJECT % "x")
    write(".ci.yml", "jobs: []\n")
    write("notes.txt", OBJECT % "x")
    write("values.yaml", "a: 1\n")
    write("packed-0.1.0.tgz", "")
    for path, before in ((".", ""), (str(Path.cwd()), f"{Path.cwd()}/")):
        assert sources.read_sources([path]).problems == ()
        assert named(sources.read_sources([path])) == [
            (f"{before}{name}", "x") for name in ("a.yaml", "b.yml", "c/d.json")
        ]
    assert told(sources.read_sources(["."])) == {
        ".ci.yml": ("data", ""),
        "a.yaml": ("judged", ""),
        "b.yml": ("judged", ""),
        "values.yaml": ("data", ""),
        "c/d.json": ("judged", ""),
        "notes.txt": ("data", file_text.NOT_NAMED),
        "packed-0.1.0.tgz": (
            "passed over",
            "an archive, perhaps a packed chart, which is not read",
        ),
        ".c": ("passed over", "a hidden folder, which is not read"),
        ".git": ("passed over", ""),
        "node_modules": ("passed over", "a folder of a tool, which is not read"),
    }


def test_a_hidden_file_is_read_as_kubectl_reads_it() -> None:
    write("c/.y.yaml", OBJECT % "x")
    assert named(sources.read_sources(["."])) == [("c/.y.yaml", "x")]


def test_lists_are_unfolded_and_several_documents_are_read() -> None:
    items = "".join(
        f"- {(OBJECT % name).replace(chr(10), chr(10) + '  ').rstrip()}\n" for name in "bc"
    )
    text = f"{OBJECT % 'a'}---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n{items}"
    found = sources.read_sources([write("a.yaml", text)])
    assert named(found) == [("a.yaml", name) for name in "abc"]
    assert [(each.start, each.place((*each.start, "kind"))) for each in found.documents] == [
        ((), (2, 1)),
        (("items", 0), (11, 3)),
        (("items", 1), (14, 3)),
    ]


def test_what_cannot_be_read_is_a_sentence_and_hides_nothing() -> None:
    write("a.yaml", "apiVersion: v1\nkind: [\n")
    Path("b.yaml").write_bytes(b"apiVersion: v1\nkind: \xff\n")
    write("c.yaml", OBJECT % "c")
    Path("d.yaml").symlink_to("nowhere")
    found = sources.read_sources([".", "e.yaml"])
    assert named(found) == [("c.yaml", "c")]
    assert found.problems == (
        "a.yaml:3:1: is not YAML: while parsing a flow node, did not find expected node content",
        "b.yaml: is not UTF-8 text: invalid start byte",
        "e.yaml: is not there",
    )
    assert passed_over(found) == {"d.yaml": "a link that leads nowhere"}
    assert [each.path for each in found.files if each.use == Use.UNREAD] == [
        "a.yaml",
        "b.yaml",
        "e.yaml",
    ]


def test_links_that_lead_to_each_other_are_read_once() -> None:
    write("a/x.yaml", OBJECT % "x")
    Path("a/b").symlink_to("..", target_is_directory=True)
    found = sources.read_sources(["a"])
    assert named(found) == [("a/x.yaml", "x")]
    assert passed_over(found) == {"a/b": "a link to a folder outside of what is checked"}
    assert named(sources.read_sources(["."])) == [("a/x.yaml", "x")]


def test_a_file_that_is_named_twice_is_read_once() -> None:
    write("a/x.yaml", OBJECT % "x")
    assert named(sources.read_sources(["a", "a/x.yaml", "./a"])) == [("a/x.yaml", "x")]


def test_stdin_is_read_and_cannot_be_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO((OBJECT % "x").encode() + b"---\n"))
    monkeypatch.setattr(sys, "stdin", given)
    found = sources.read_sources(["-"])
    assert named(found) == [("stdin", "x")]
    assert [each.is_editable for each in found.documents] == [False]


def test_stdin_that_is_no_text_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert sources.read_sources(["-"]).problems == ("stdin: is not UTF-8 text: invalid start byte",)


def test_without_a_tool_what_it_builds_is_a_sentence_and_the_rest_is_read() -> None:
    write("chart/Chart.yaml", "apiVersion: v2\nname: c\n")
    write("chart/templates/x.yaml", "{{ .Values.x }}")
    write("k/kustomization.yaml", "resources: [x.yaml]\n")
    write("k/x.yaml", OBJECT % "used")
    write("k/y.yaml", OBJECT % "unused")
    write("z.yaml", OBJECT % "z")
    found = sources.read_sources(["."])
    assert named(found) == [("z.yaml", "z"), ("k/y.yaml", "unused")]
    assert found.problems == (
        (
            "chart: `helm` is needed to render it, and is not on PATH; install it, or pipe what it "
            "renders: `helm template chart | trainer-infra check -`"
        ),
        (
            "k: `kustomize` or `kubectl` is needed to build it, and neither is on PATH; install "
            "one, or pipe what it builds: `kustomize build k | trainer-infra check -`"
        ),
    )


def test_what_a_kustomization_builds_upon_is_no_source_of_its_own() -> None:
    write("base/kustomization.yaml", "resources: [x.yaml]\n")
    write("base/x.yaml", OBJECT % "x")
    write("part/kustomization.yml", "kind: Component\npatches: [{path: p.yaml}]\n")
    write("part/p.yaml", OBJECT % "x")
    top = "resources: [../base]\ncomponents: [../part]\nconfigMapGenerator: [{files: [f=a.json]}]\n"
    write("top/Kustomization", top)
    write("top/a.json", OBJECT % "x")
    write("library/Chart.yaml", "name: c\ntype: library\n")
    assert [each.partition(":")[0] for each in sources.read_sources(["."]).problems] == ["top"]
    assert [each.partition(":")[0] for each in sources.read_sources(["base"]).problems] == ["base"]
    assert named(sources.read_sources(["base/x.yaml"])) == [("base/x.yaml", "x")]


def test_a_broken_kustomization_does_not_hide_its_files() -> None:
    write("kustomization.yaml", "resources: [\n")
    write("x.yaml", OBJECT % "x")
    found = sources.read_sources(["."])
    assert named(found) == [("x.yaml", "x")]
    assert len(found.problems) == 1


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    (found,) = source_objects.of_text("\ufeff" + OBJECT % "x", "a.yaml").documents
    assert isinstance(found, Document)
    assert (found.lines[0], found.place(("apiVersion",))) == ("apiVersion: v1", (1, 1))


def test_a_document_that_is_no_yaml_keeps_no_other_of_its_file_from_being_read() -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {}}}\n"
    text = f"{job.format('a')}---\na: [1\n--- # the last one\n{job.format('b')}"
    found = source_objects.of_text(text, "jobs.yaml")
    assert [each.value["metadata"]["name"] for each in found.documents] == ["a", "b"]
    assert [each.place(("kind",))[0] for each in found.documents] == [2, 8]
    (problem,) = found.problems
    assert problem.startswith("jobs.yaml:6:1: is not YAML")


def test_a_few_aliases_that_stand_for_billions_of_values_are_one_problem() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{each} [{', '.join([f'*a{each - 1}'] * 9)}]" for each in range(1, 10)]
    found = source_objects.of_text("kind: a\nspec:\n" + "\n".join(lines), "bomb.yaml")
    assert found.problems == ("bomb.yaml: stands for more than 1,000,000 values by its aliases",)


def test_a_chart_hides_no_manifest_that_helm_does_not_read() -> None:
    write("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n")
    write("values.yaml", "name: v\n")
    write("values-prod.yaml", "{{- if prod }}\nname: a\n")
    write("templates/job.yaml", "kind: A\nmetadata: {name: {{ .Values.name }}}\n")
    plain = (
        "charts/_old/o.yaml", "charts/loose.yaml", "charts/sub/Chart.yaml", "deploy/deep/d.yaml",
        "docs/templates/e.yaml", "x.yaml", "crds/k.yaml", "templates/plain.yaml",
    )  # fmt: skip
    for name in plain:
        write(name, OBJECT % "x")
    found = sources.read_sources(["."])
    assert {each.file for each in found.documents} == {*plain}
    (problem,) = found.problems
    assert problem.startswith(".: `helm` is needed")
    assert told(found)["values-prod.yaml"] == ("data", "")


def test_a_chart_inside_a_chart_that_is_none_of_its_parts_is_a_chart_of_its_own() -> None:
    write("Chart.yaml", "name: c\n")
    write("charts/part/Chart.yaml", "name: part\n")
    write("other/Chart.yaml", "name: other\n")
    problems = sources.read_sources(["."]).problems
    assert [each.partition(":")[0] for each in problems] == [".", "other"]


def test_templates_of_a_library_are_passed_over_and_named() -> None:
    write("Chart.yaml", "name: c\ntype: library\n")
    write("templates/t.yaml", "{{ define }}")
    write("templates/plain.yaml", OBJECT % "x")
    found = sources.read_sources(["."])
    assert named(found) == [("templates/plain.yaml", "x")]
    assert found.problems == ()
    assert passed_over(found) == {
        "templates/t.yaml": "a template of a library chart, which helm renders only as a part of others"
    }


@pytest.mark.parametrize(
    "fields",
    [
        "namespace: prod",
        "helmGlobals: {chartHome: prod}",
        "commonLabels: {env: prod, file: x.yaml}",
        "replacements: [{targets: [{options: {delimiter: ., index: 0}}]}]",
        "configMapGenerator: [{files: [x.yaml, job=prod/y.yaml], envs: [x.yaml]}]",
        "nameSuffix: x.yaml",
        "images: [{name: prod, newName: x.yaml}]",
        "replicas: [{name: prod, count: 1}]",
        "openapi: {path: x.yaml}",
        "crds: [x.yaml]",
    ],
)
def test_a_word_of_a_kustomization_is_no_folder_and_no_file_that_it_builds(fields: str) -> None:
    write("kustomization.yaml", f"resources: [own.yaml]\n{fields}\n")
    write("own.yaml", OBJECT % "own")
    write("x.yaml", OBJECT % "x")
    write("prod/kustomization.yaml", "resources: [y.yaml]\n")
    write("prod/y.yaml", OBJECT % "y")
    write("prod/z.yaml", OBJECT % "z")
    found = sources.read_sources(["."])
    assert [each.partition(":")[0] for each in found.problems] == [".", "prod"]
    assert sorted(named(found)) == [("prod/z.yaml", "z"), ("x.yaml", "x")]


def test_kustomizations_that_build_upon_each_other_are_not_left_out() -> None:
    write("a/kustomization.yaml", "resources: [../b]\n")
    write("b/kustomization.yaml", "resources: [../a]\n")
    write("c/kustomization.yaml", "resources: [.]\n")
    problems = sources.read_sources(["."]).problems
    assert [each.partition(":")[0] for each in problems] == ["a", "b", "c"]


def test_the_objects_of_a_component_that_nothing_uses_are_read_as_they_are_written() -> None:
    write(
        "part/kustomization.yaml",
        "kind: Component\nresources: [x.yaml]\npatches: [{path: p.yaml}]\n",
    )
    write("part/x.yaml", OBJECT % "x")
    write("part/p.yaml", OBJECT % "p")
    found = sources.read_sources(["."])
    assert named(found) == [("part/x.yaml", "x")]
    why = "of a Component that no kustomization here uses: what its patches make was not judged"
    assert passed_over(found) == {"part/kustomization.yaml": why, "part/p.yaml": why}
