"""`trainer-infra check` judges files by policy rules, and its exit code says what came of it."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.command import Command
from trainer_infra.cli.check import MANY

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits
  namespace: vision
spec:
  runtimeRef: {name: mine, kind: TrainingRuntime}
  activeDeadlineSeconds: 3600
  trainer:
    numNodes: 2  # as many as there are
    resourcesPerNode:
      requests: {nvidia.com/gpu: 4}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: mine
  namespace: vision
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: registry.example.com/train:v1
                  securityContext:
                    privileged: true   # for the debugger
"""
CONTAINER = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]"
PRICES = """\
rules:
  price: {parameters: {prices: {nvidia.com/gpu: 2.5}}}
"""


def written(cli: Command, **files: str) -> None:
    for name, text in files.items():
        (cli.folder / f"{name}.yaml").write_text(text)


def check(cli: Command, *arguments: str, code: int = 0) -> str:
    """What the command prints, its complaints with it."""
    done = cli("check", *arguments)
    assert done.code == code, done.out + done.err
    return done.out + done.err


def found(cli: Command, *arguments: str, code: int = 0) -> list[tuple[str, str, str]]:
    """Rule, file with line, and field of what counts and is high or critical."""
    report = json.loads(check(cli, *arguments, "--format", "json", code=code))
    return [
        (each["rule"], f"{each['place']['file']}:{each['place']['line']}", each["path"])
        for each in report["findings"]
        if each["severity"] in {"high", "critical"}
    ]


def test_findings_point_at_the_lines_that_have_to_be_changed(cli: Command) -> None:
    written(cli, job=JOB, runtime=RUNTIME)
    assert found(cli, ".", code=1) == [
        ("gpu-limits", "job.yaml:12", "spec.trainer.resourcesPerNode.requests[nvidia.com/gpu]"),
        (
            "privileged",
            "runtime.yaml:22",
            f"{CONTAINER}.securityContext.privileged",
        ),
    ]


def test_fix_mends_what_can_be_mended_and_keeps_all_else(cli: Command) -> None:
    written(cli, job=JOB, runtime=RUNTIME)
    check(cli, ".", "--fix")
    runtime = (cli.folder / "runtime.yaml").read_text().splitlines()
    assert "                    privileged: false   # for the debugger" in runtime
    mended = (cli.folder / "job.yaml").read_text()
    assert "numNodes: 2  # as many as there are" in mended
    resources = yaml.safe_load(mended)["spec"]["trainer"]["resourcesPerNode"]
    assert resources == {"requests": {"nvidia.com/gpu": 4}, "limits": {"nvidia.com/gpu": 4}}
    assert found(cli, ".") == []


def test_what_came_from_stdin_is_judged_again_after_files_were_mended(cli: Command) -> None:
    written(cli, runtime=RUNTIME)
    other = RUNTIME.replace("name: mine", "name: other")
    done = cli("check", "-", "runtime.yaml", "--fix", stdin=other)
    assert done.err == "mended runtime.yaml\n"
    assert "critical privileged: TrainingRuntime vision/other" in done.out
    assert ("2 objects of 2 files" in done.out, done.code) == (True, 1)


def test_charts_are_rendered_with_the_values_that_are_named(cli: Command) -> None:
    cli.write("chart/Chart.yaml", "name: chart\nversion: 0.1.0\n")
    rendered = "---\\napiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\n"
    program = f"#!/bin/sh\nprintf '%s\\n' \"$@\" > asked\nprintf '%b' '{rendered}'\n"
    helm = cli.folder / cli.write("bin/helm", program)
    helm.chmod(0o755)
    with_helm = Command(cli.folder, {**cli.env, "PATH": f"{helm.parent}{os.pathsep}/bin"})
    options = ("--values", "a.yaml", "--values", "b.yaml")
    assert with_helm("check", "chart", *options).code == 0
    assert (cli.folder / "asked").read_text().splitlines() == [
        *("template", "--include-crds"),
        *("--values", str(cli.folder / "a.yaml"), "--values", str(cli.folder / "b.yaml")),
        *("--", str(cli.folder / "chart")),
    ]


def test_what_is_known_fails_no_more_and_what_is_new_does(cli: Command) -> None:
    written(cli, job=JOB, runtime=RUNTIME)
    check(cli, ".", "--write-baseline", "known.json", code=1)
    check(cli, ".", "--baseline", "known.json")
    written(cli, other=JOB.replace("name: digits", "name: other"))
    said = check(cli, ".", "--baseline", "known.json", code=1)
    assert "TrainJob vision/other: spec.trainer.resourcesPerNode" in said


def test_an_environment_may_ask_for_more_and_reports_are_written_beside(cli: Command) -> None:
    strict = "environments: {production: {rules: {image-digest: {severity: critical}}}}\n"
    written(cli, runtime=RUNTIME.replace("privileged: true", "privileged: false"))
    (cli.folder / "trainer-policy.yaml").write_text(strict)
    check(cli, "runtime.yaml")

    check(
        cli,
        *("runtime.yaml", "--environment", "production"),
        *("--output", "sarif=report.sarif", "--output", "junit=report.xml"),
        code=1,
    )

    (run,) = json.loads((cli.folder / "report.sarif").read_text())["runs"]
    assert "image-digest" in {each["ruleId"] for each in run["results"]}
    assert "<testsuites" in (cli.folder / "report.xml").read_text()
    said = check(cli, "runtime.yaml", "--environment", "staging", code=1)
    assert "environments: does not have this environment, got 'staging'; use production" in said


def test_what_cannot_be_read_fails_the_check_beside_what_could_be_judged(cli: Command) -> None:
    written(cli, job=JOB, runtime=RUNTIME, broken="apiVersion: v1\nkind: [1\n")
    said = check(cli, ".", code=3)
    assert "broken.yaml:3:1: is not YAML" in said
    assert "privileged" in said


def test_many_files_say_what_each_says_by_itself(cli: Command) -> None:
    """So many that processes of their own judge them."""
    written(cli, runtime=RUNTIME)
    names = [f"digits-{number}" for number in range(MANY)]
    written(cli, **{name: JOB.replace("name: digits", f"name: {name}", 1) for name in names})
    many = json.loads(cli("check", ".", "--format", "json").out)
    one = json.loads(cli("check", "runtime.yaml", "digits-7.yaml", "--format", "json").out)
    assert many["objects"] == MANY + 1
    for name in ("digits-7", "mine"):
        assert [each for each in many["findings"] if each["name"] == name] == [
            each for each in one["findings"] if each["name"] == name
        ]


def test_a_report_that_cannot_be_written_is_told(cli: Command) -> None:
    written(cli, runtime=RUNTIME)
    said = check(cli, "runtime.yaml", "--output", "sarif=none/report.sarif", code=1)
    assert said == "none/report.sarif: cannot be written: No such file or directory\n"


def commit(cli: Command) -> None:
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"),
    ):
        subprocess.run(["git", *command], cwd=cli.folder, check=True)


def test_only_what_differs_from_a_revision_is_judged_and_its_cost_is_told(cli: Command) -> None:
    good = RUNTIME.replace("privileged: true", "privileged: false")
    written(
        cli,
        job=JOB.replace("requests", "limits"),
        runtime=good,
        untouched=JOB.replace("name: digits", "name: other"),
    )
    (cli.folder / "trainer-policy.yaml").write_text(PRICES)
    commit(cli)
    assert found(cli, ".", "--changed-from", "main") == []

    changed = JOB.replace("requests", "limits").replace("numNodes: 2", "numNodes: 4")
    written(cli, job=changed)
    report = json.loads(check(cli, ".", "--changed-from", "main", "--format", "json"))

    known = report["notes"].pop("Known findings of objects that this change does not touch")
    assert known.endswith("in 2 files")
    assert report["notes"] == {
        "GPU-hours at most": "24.00, was 16.00 (+8.00)",
        "Price at most": "60.00 USD, was 40.00 (+20.00)",
    }


def test_a_secret_is_in_no_report(cli: Command, tmp_path: Path) -> None:
    token = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    secret = f"    env: [{{name: HF_TOKEN, value: {token}}}]\n"
    written(cli, job=JOB + secret, runtime=RUNTIME)
    forms = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
    reports = tuple(f"{form}={tmp_path / form}" for form in forms)
    options = tuple(word for each in reports for word in ("--output", each))
    said = check(cli, ".", *options, "--write-baseline", str(tmp_path / "known"), code=1)
    assert "literal-secrets" in said
    for text in (said, *((tmp_path / form).read_text() for form in (*forms, "known"))):
        assert token not in text


def test_a_pack_says_from_which_severity_a_finding_fails(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "runtime.yaml"
    file.write_text(RUNTIME.replace("privileged: true   # for the debugger", "privileged: false"))
    told = {pack: cli("check", str(file), "--pack", pack) for pack in ("training", "restricted")}
    assert [each.code for each in told.values()] == [0, 1]
    assert "are medium or worse" in told["restricted"].out
    assert cli("check", str(file), "--pack", "restricted", "--fail-on", "high").code == 0


def test_a_policy_that_differs_from_the_revision_is_told(cli: Command) -> None:
    """Who changes a job and what judges it in one pull request says both."""
    pack = cli.folder / "vision"
    pack.mkdir()
    (pack / "pack.py").write_text(
        "from trainer_infra.rules.pack import Pack\nPACK = Pack('vision')\n"
    )
    written(cli, job=JOB.replace("requests", "limits"))
    (cli.folder / "trainer-policy.yaml").write_text("rules: {}\n")
    cli("check", "job.yaml", "--write-baseline", "known.json")
    commit(cli)
    options = ("job.yaml", "--changed-from", "main", "--pack", "vision", "--baseline", "known.json")
    assert "The policy differs" not in cli("check", *options).out

    (cli.folder / "trainer-policy.yaml").write_text("rules: {schema: {enforcement: disabled}}\n")
    (cli.folder / "known.json").write_text('{"version": 1, "findings": []}')
    (pack / "more.py").write_text("")
    said = cli("check", *options).out
    title = "The policy differs from main, whose own judged; in all files the new one:"
    _, *lines, _ = said[said.index(title) :].partition("\n\n")[0].splitlines()
    assert lines
    told = {each.strip("- ") for each in said.splitlines()}
    assert {"known.json", "trainer-policy.yaml", "vision/more.py"} <= told


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({}, ()),
        ({"job": JOB}, ("--exclude", "*")),
        ({"values": "a: 1\n", "train": "{a: 1}\n"}, ()),
        ({"task": "{% if a %}\nkind: A\napiVersion: v1\n{% endif %}\n"}, ()),
    ],
)
def test_no_object_is_no_pass(
    cli: Command, files: dict[str, str], options: tuple[str, ...]
) -> None:
    written(cli, **files)
    said = "The check is not complete: nothing was judged, because there is no object."
    assert said in check(cli, ".", *options, code=3)
    report = json.loads(cli("check", ".", *options, "--format", "json").out)
    assert (report["exitCode"], report["objects"]) == (3, 0)
    assert len(report["inventory"]) == len(files)
    for form in ("sarif", "junit", "github", "markdown"):
        assert "nothing was judged" in cli("check", ".", *options, "--format", form).out


def test_that_nothing_has_changed_is_a_pass_and_that_all_is_excluded_is_none(cli: Command) -> None:
    written(cli, job=JOB, runtime=RUNTIME)
    commit(cli)
    assert "0 objects of 0 files" in check(cli, ".", "--changed-from", "main")
    check(cli, ".", "--changed-from", "main", "--exclude", "*", code=3)
    for name in ("job", "runtime"):
        (cli.folder / f"{name}.yaml").unlink()
    check(cli, ".", "--changed-from", "main")


def test_every_report_counts_the_files(cli: Command) -> None:
    written(cli, runtime=RUNTIME.replace("true   # for the debugger", "false"), values="a: 1\n")
    (cli.folder / "gone.yaml").symlink_to("nowhere")
    counted = "of 3 files and folders: 1 judged, 1 data, 1 passed over"
    for form in ("text", "junit", "markdown"):
        assert counted in cli("check", ".", "--format", form).out
    sarif = json.loads(cli("check", ".", "--format", "sarif").out)
    assert sarif["runs"][0]["properties"]["inventory"] == {"judged": 1, "data": 1, "passed over": 1}
    for form in ("text", "github", "markdown", "junit", "json"):
        assert "gone.yaml: a link that leads nowhere" in cli("check", ".", "--format", form).out
