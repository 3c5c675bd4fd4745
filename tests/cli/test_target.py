"""Where a command looks for runs: its options, then the nearest stack's settings, then here."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.deploy.project import Stack

HERE = "no runs in namespace default on this machine\n"


def kubeconfig(*contexts: str, namespace: str = "") -> str:
    """A kubeconfig without servers, so that an error tells who was asked."""
    named = [
        {"name": each, "context": {"cluster": each, "user": "", "namespace": namespace}}
        for each in contexts
    ]
    return json.dumps({"current-context": contexts[0], "contexts": named, "clusters": []})


def project(cli: Command, **stacks: str) -> Command:
    """A Pulumi program in the command's folder, one file per stack with its settings."""
    cli.write("Pulumi.yaml", "name: project\nruntime: python\n")
    for stack, settings in stacks.items():
        lines = "".join(f"  trainer:{each}\n" for each in settings.split("; ") if each)
        cli.write(f"Pulumi.{stack}.yaml", f"config:\n{lines}" if lines else "{}\n")
    return cli


def missing(path: Path | str) -> str:
    return f"the kubeconfig {path} does not exist\n"


def test_without_a_program_it_is_this_machine(cli: Command) -> None:
    assert cli("get").err == HERE


def test_a_program_without_settings_is_this_machine(cli: Command) -> None:
    assert project(cli)("get").err == HERE
    assert project(cli, dev="")("get").err == HERE


def test_the_only_stack_decides(cli: Command) -> None:
    project(cli, dev="target: kubernetes; engine: provider; kubeconfig: nowhere; context: a")
    found = cli("get")
    assert (found.code, found.out, found.err) == (1, "", missing(cli.folder / "nowhere"))
    assert cli("get", "--target", "local").err == HERE
    assert cli("get", "--kubeconfig", "other").err == missing("other")


def test_a_folder_below_the_program_is_in_it(cli: Command) -> None:
    project(cli, dev="target: kubernetes; kubeconfig: nowhere")
    below = cli.folder / "below"
    below.mkdir()
    assert Command(below, cli.env)("get").err == missing(cli.folder / "nowhere")


def test_the_kubeconfig_of_a_program_elsewhere_begins_in_its_folder(cli: Command) -> None:
    project(cli, dev="target: kubernetes; kubeconfig: nowhere")
    cli.write("Pulumi.yaml", "name: project\nruntime: python\nmain: stacks/one\n")
    assert cli("get").err == missing(cli.folder / "stacks/one/nowhere")


def test_settings_of_the_project_hold_for_its_stacks(cli: Command) -> None:
    project(cli, dev="target: kubernetes", prod="target: kubernetes; kubeconfig: prod")
    shared = "  trainer:kubeconfig: {default: shared}\n  trainer:target: {value: local}\n"
    cli.write("Pulumi.yaml", f"name: project\nruntime: python\nconfig:\n{shared}")
    for stack, file in (("dev", "shared"), ("prod", "prod")):
        chosen = Command(cli.folder, {**cli.env, "PULUMI_STACK": stack})
        assert chosen("get").err == missing(cli.folder / file)


def test_stacks_that_say_the_same_need_no_choice(cli: Command) -> None:
    project(cli, one="target: local", two="target: local")
    assert cli("get").err == HERE


def test_stacks_of_one_place_need_no_choice_whatever_else_they_say(cli: Command) -> None:
    project(cli, one="target: local", two="allowDestroy: 'true'", three="")
    assert cli("get").err == HERE
    pods = "target: kubernetes; kubeconfig: nowhere; "
    project(cli, one=f"{pods}engine: provider", two=pods, three=f"{pods}allowDestroy: 'true'")
    assert cli("get").err == missing(cli.folder / "nowhere")


def test_stacks_that_differ_ask_for_a_choice(cli: Command) -> None:
    project(cli, dev="target: local", prod="target: kubernetes; context: big; kubeconfig: nowhere")
    found = cli("get")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "the stacks of project project run in different places (dev: local, prod: kubernetes big "
        "nowhere) and none is selected; name the place with --target local, or with --kubeconfig "
        "and --context, or choose a stack with `pulumi stack select` or PULUMI_STACK\n"
    )
    assert cli("get", "--target", "local").err == HERE
    assert cli("get", "--target", "kubernetes").err == missing(cli.folder / "nowhere")
    assert Command(cli.folder, {**cli.env, "PULUMI_STACK": "dev"})("get").err == HERE


def test_a_context_decides_between_stacks_that_differ_in_nothing_else(cli: Command) -> None:
    target = "target: kubernetes; kubeconfig: nowhere; context:"
    project(cli, dev=f"{target} small", prod=f"{target} big")
    assert cli("get", "--context", "small").err == missing(cli.folder / "nowhere")


def test_the_stack_says_which_namespace_where_no_option_does(cli: Command) -> None:
    project(cli, dev="target: local; namespace: team", prod="target: local; namespace: live")
    chosen = Command(cli.folder, {**cli.env, "PULUMI_STACK": "dev"})
    assert chosen("get").err == HERE.replace("default", "team")
    assert chosen("get", "-n", "other").err == HERE.replace("default", "other")
    assert cli("get", "-n", "live").err == HERE.replace("default", "live")
    assert "dev: local team, prod: local live" in cli("get").err


def test_the_selected_stack_decides(stack: Stack) -> None:
    dev = {"target": "kubernetes", "kubeconfig": "dev"}
    for key, value in dev.items():
        stack.run("config", "set", f"trainer:{key}", value)
    _pulumi(stack, "stack", "init", "prod")
    _pulumi(stack, "config", "set", "trainer:target", "kubernetes")
    _pulumi(stack, "config", "set", "trainer:kubeconfig", "prod")
    assert stack.trainer("get", ok=False) == missing(stack.folder / "prod")
    _pulumi(stack, "stack", "select", "test")
    assert stack.trainer("get", ok=False) == missing(stack.folder / "dev")


def test_a_secret_kubeconfig_is_opened_by_pulumi(stack: Stack) -> None:
    stack.run("config", "set", "trainer:target", "kubernetes")
    stack.run("config", "set", "--secret", "trainer:kubeconfig", kubeconfig("hidden"))
    said = stack.trainer("get", "--context", "other", ok=False)
    assert said.startswith("the kubeconfig cannot be used: ")
    assert "other" in said
    closed = Stack(stack.folder, {**stack.env, "PULUMI_CONFIG_PASSPHRASE": "wrong"})
    said = closed.trainer("get", ok=False)
    assert said.startswith("the secret trainer:kubeconfig of stack test cannot be read: ")
    assert "Traceback" not in said


def _pulumi(stack: Stack, *arguments: str) -> None:
    """The CLI on whatever stack is selected."""
    subprocess.run(
        ["pulumi", *arguments, "--non-interactive"],
        cwd=stack.folder,
        env=dict(stack.env),
        capture_output=True,
        check=True,
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            "target: k8s",
            (
                "stack dev of project project has trainer:target 'k8s', which is not one of local, "
                "kubernetes; name one with --target\n"
            ),
        ),
        (
            "target: kubernetes; engine: other",
            (
                "stack dev of project project has trainer:engine 'other', which is not one of "
                "provider, controller; name a cluster with --kubeconfig\n"
            ),
        ),
    ],
)
def test_settings_that_no_version_has_are_named(cli: Command, settings: str, told: str) -> None:
    found = project(cli, dev=settings)("get")
    assert (found.code, found.out, found.err) == (1, "", told)


def test_a_project_file_that_is_none_is_named(cli: Command) -> None:
    cli.write("Pulumi.yaml", "name: [project\n")
    found = cli("get")
    assert found.err.startswith(f"{cli.folder / 'Pulumi.yaml'} cannot be read: ")
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("get", "--target", "local", "--context", "a"),
            "Invalid value: --context applies to --target kubernetes only",
        ),
        (
            ("run", "job.yaml", "--target", "kubernetes"),
            (
                "Invalid value for '--target': `run` runs on this machine only; on Kubernetes declare "
                "the TrainJob in a Pulumi program whose stack has trainer:target kubernetes"
            ),
        ),
    ],
)
def test_options_that_exclude_one_another_end_with_2(
    cli: Command, arguments: tuple[str, ...], told: str
) -> None:
    found = cli(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err.splitlines()[-1] == f"Error: {told}"


def test_a_cluster_that_is_not_there_and_a_context_that_is_none_are_named(cli: Command) -> None:
    cli.write("config", kubeconfig("here"))
    found = cli("get", "--kubeconfig", "config", "--context", "there")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("the kubeconfig config cannot be used: ")
    assert "there" in found.err
