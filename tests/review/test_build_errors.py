"""What kustomize and helm say is wrong is shown whole; the real kustomize fails."""

from pathlib import Path

import pytest

from tests.review import trees
from trainer_infra.review import sources, subprocess_tool

PASSWORD = "hunter2pass"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl_program: Path) -> Path:
    """A folder in which the tests are, with a base and nothing on PATH but what builds it."""
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl_program)
    monkeypatch.setenv("PATH", str(programs))
    base = {
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "base/job.yaml": trees.JOB.format(name="digits"),
    }
    trees.write(base, folder)
    monkeypatch.chdir(folder)
    return folder


def problem(work: Path, kustomization: str, **files: str) -> str:
    """The one problem of an overlay."""
    named = {f"top/{name}.yaml": text for name, text in files.items()}
    trees.write({"top/kustomization.yaml": kustomization, **named}, work)
    (found,) = sources.read_sources(["."]).problems
    assert str(work) not in found
    assert "trainer-infra-" not in found
    assert PASSWORD not in found
    return found


def test_of_a_layer_below_it_is_said_through_which_layers_it_was_read(work: Path) -> None:
    trees.write({"base/job.yaml": "a: [\n"}, work)
    assert problem(work, "resources: [../base]\n") == (
        "top: cannot be built: accumulating resources: accumulation err='accumulating resources "
        "from '../base': 'base' must resolve to a file': recursed accumulation of path 'base': "
        "accumulating resources: accumulating resources from 'job.yaml': MalformedYAMLError: yaml: "
        "line 1: did not find expected node content in File: job.yaml"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("nonsense: 1", 'invalid Kustomization: json: unknown field "nonsense"'),
        (
            "patches: [{target: {kind: TrainJob}, patch: '- {op: replace, path: /a/b, value: 1}'}]",
            "replace operation does not apply: doc is missing path: /a/b: missing value",
        ),
        (
            "configMapGenerator: [{name: x, files: [none.conf]}]",
            (
                "loading KV pairs: file sources: [none.conf]: evalsymlink failure on 'top/none.conf' : "
                "lstat top/none.conf: no such file or directory"
            ),
        ),
    ],
)
def test_of_our_own_layer_above_it_nothing_is_said(work: Path, fields: str, said: str) -> None:
    assert problem(work, f"resources: [../base]\n{fields}\n") == f"top: cannot be built: {said}"


def test_a_complaint_of_several_lines_is_whole_and_what_it_quotes_of_files_is_not_in_it(
    work: Path,
) -> None:
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: digits}\n"
    by_file = "resources: [../base]\npatches: [{path: p.yaml}]\n"
    assert problem(work, by_file, p=f"{head}spec: [{PASSWORD}]\n") == (
        "top: cannot be built: wrong node kind: expected MappingNode but got SequenceNode"
    )
    inline = f"resources: [../base]\npatches: [{{patch: 'spec: {PASSWORD}'}}]\n"
    assert problem(work, inline) == (
        "top: cannot be built: trouble configuring builtin PatchTransformer: unable to parse SM or "
        "JSON patch from [patch: …]"
    )
    literal = f"resources: [../base]\nsecretGenerator: [{{name: a, literals: [{PASSWORD}]}}]\n"
    assert problem(work, literal) == (
        "top: cannot be built: loading KV pairs: literal sources […]: invalid one, expected key=value"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "Error: values don't meet the schema in the following chart(s):\nc4:\n- at '': missing "
                "property 'image'\n- at '/n': got string, want integer\n"
            ),
            (
                "Error: values don't meet the schema in the following chart(s): c4: - at '': missing "
                "property 'image'; - at '/n': got string, want integer"
            ),
        ),
        (
            (
                "WARNING: x\nError: YAML parse error on a.yaml: line 4\n\nUse --debug flag to render out "
                "invalid YAML\n"
            ),
            "Error: YAML parse error on a.yaml: line 4",
        ),
        (
            '# Warning: old\nE1122 02:22:49.2 1 run.go:72] "command failed" err="bad \\"x\\""\n',
            'bad "x"',
        ),
        ("Warning: only this\n", "Warning: only this"),
        ("", "it failed and said nothing"),
    ],
)
def test_of_a_complaint_all_is_told_but_warnings_and_hints(text: str, said: str) -> None:
    assert subprocess_tool.whole_words(text) == said
