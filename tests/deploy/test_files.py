"""Files of a run whose content is secret: on this machine they are where `mounted` says."""

import pytest

from tests.deploy.project import Stack

PROGRAM = """
def show():
    from trainer_infra.storage import mounted
    print("it has", len(open(mounted("/etc/team/key.json")).read()), "characters", flush=True)

TrainJob("job", runtime="plain-distributed", wait_for="complete", trainer=CustomTrainer(
    show, files={{"/etc/team/key.json": {content}}}))
"""


@pytest.mark.parametrize(
    ("content", "length"),
    [
        ('Secret("planted-value-1")', 15),
        pytest.param('pulumi.Output.secret("planted-value-22")', 16, marks=pytest.mark.soak),
    ],
)
def test_the_content_is_in_the_file_and_in_no_plain_text(
    stack: Stack, content: str, length: int
) -> None:
    stack.program(PROGRAM.format(content=content))
    shown = stack.preview()
    stack.up()
    (run,) = stack.runs()
    assert f"it has {length} characters" in stack.trainer("logs", run["name"])
    assert "planted" not in shown + stack.export()
    stack.unchanged()


def test_content_that_is_not_hidden_is_refused(stack: Stack) -> None:
    stack.program(PROGRAM.format(content='"text"'))
    said = "files['/etc/team/key.json']: must say where the file's content comes from, not hold the content itself; give Secret("
    assert said in stack.preview(ok=False)
