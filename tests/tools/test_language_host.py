import json
import time
from pathlib import Path

import psutil

from tests.tools.conftest import ROOT, Project

DYNAMIC = """
    import time
    import pulumi
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider

    class Provider(ResourceProvider):
        def create(self, props):
            open("created", "a").write("begun ")
            time.sleep(props["seconds"])
            open("created", "a").write("done ")
            return CreateResult("id", {**props, "made": props["seconds"] + 1})

    class Made(Resource):
        made: pulumi.Output[float]

        def __init__(self, name, seconds):
            super().__init__(Provider(), name, {"seconds": seconds, "made": None})

    seconds = pulumi.Config().require_float("seconds")
    pulumi.export("made", Made("one", seconds).made)
"""


def test_a_dynamic_resource_is_previewed_created_unchanged_and_destroyed(project: Project) -> None:
    project.program(DYNAMIC)
    assert "+ 2 to create" in project.run("preview", "--config", "seconds=0")
    assert "+ 2 created" in project.run("up", "--yes", "--skip-preview", "--config", "seconds=0")
    assert project.run("stack", "output", "made") == "1\n"
    assert "2 unchanged" in project.run("preview", "--expect-no-changes")
    assert "- 2 deleted" in project.run("destroy", "--yes", "--skip-preview")


def test_the_program_gets_its_config_secrets_folder_and_names(project: Project) -> None:
    project.program("""
        import os, pulumi
        config = pulumi.Config()
        pulumi.export("plain", config.require("plain"))
        pulumi.export("hidden", config.require_secret("hidden"))
        pulumi.export("secret keys", os.environ["PULUMI_CONFIG_SECRET_KEYS"])
        pulumi.export("names", [pulumi.get_project(), pulumi.get_stack(), os.getcwd()])
        print("said", "by", "the", "program")
    """)
    project.run("config", "set", "--secret", "hidden", "of no use")
    output = project.run("up", "--yes", "--skip-preview", "--config", "plain=text")
    assert "said by the program" in output
    assert json.loads(project.run("stack", "output", "--json")) == {
        "plain": "text",
        "hidden": "[secret]",
        "secret keys": '["tiny:hidden"]',
        "names": ["tiny", "test", str(project.folder)],
    }


def test_without_the_option_the_program_runs_with_the_hosts_own_python(project: Project) -> None:
    (project.folder / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
    project.program("import pulumi, sys; pulumi.export('python', sys.prefix)")
    project.run("up", "--yes", "--skip-preview")
    assert project.run("stack", "output", "python") == f"{ROOT / '.venv'}\n"


def test_an_exception_is_shown_once_with_the_users_lines_only(project: Project) -> None:
    project.program("""
        def wrong():
            raise ValueError("no good")
        wrong()
    """)
    output = project.run("preview", code=1)
    _, _, shown = output.partition("Diagnostics:")
    assert shown.count("ValueError: no good") == 1
    assert "an unhandled error occurred" not in shown
    assert shown.count('File "') == 2
    assert shown.count(str(project.folder / "__main__.py")) == 2


def test_an_exit_code_is_named_without_a_traceback(project: Project) -> None:
    project.program("raise SystemExit(7)")
    output = project.run("preview", code=1)
    assert "the program ended with exit code 7" in output
    assert "Traceback" not in output


def test_a_program_killed_by_a_signal_is_named(project: Project) -> None:
    project.program("import os; os.kill(os.getpid(), 9)")
    assert "the program was ended by SIGKILL" in project.run("preview", code=1)


def test_a_virtual_environment_that_is_not_there_is_one_sentence(project: Project) -> None:
    (project.folder / "Pulumi.yaml").write_text(
        "name: tiny\nruntime: {name: python, options: {virtualenv: nowhere}}\n"
    )
    project.program("")
    assert (
        "Pulumi.yaml: runtime.options.virtualenv: no virtual environment there, got 'nowhere'"
        f" ({project.folder / 'nowhere'}); create it with `python3 -m venv` and install"
        " requirements.txt into it; in a checkout of trainer-infra run `make setup`"
    ) in project.run("preview", code=1)


def test_about_names_interpreter_and_dependencies(project: Project) -> None:
    output = project.run("about", "--json")
    about = json.loads(output[output.index("{") :])
    python = project.folder.parent / "venv" / "bin" / "python"
    assert about["runtime"]["executable"] == str(python)
    assert "trainer-infra" in {dependency["name"] for dependency in about["dependencies"]}


def _wait_for(path: Path, text: str) -> None:
    for _ in range(600):
        if path.exists() and text in path.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} never held {text!r}")


def test_no_process_outlives_a_killed_cli_and_a_create_under_way_is_finished(
    project: Project,
) -> None:
    project.program(DYNAMIC)
    cli = project.start("up", "--yes", "--skip-preview", "--config", "seconds=3")
    _wait_for(project.folder / "created", "begun")
    children = psutil.Process(cli.pid).children(recursive=True)
    assert len(children) == 3, "language host, program and dynamic provider"
    cli.kill()
    cli.communicate()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    assert (project.folder / "created").read_text() == "begun done "
