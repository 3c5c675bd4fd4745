"""What a program prints of its secrets is hidden, in whatever spelling; all else stays."""

import base64
import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trainer_infra.runs.redaction import SHORTEST, Redaction
from trainer_infra.runs.run import FAILED, Failure, Node, Owner, Run

VALUE = 'horse "battery" stäple'
RUN = Run(
    namespace="team",
    name="digits",
    uid="u",
    host="cluster c",
    owner=Owner("p", "s", "urn"),
    content="c",
    created="2026-11-22T12:00:00Z",
    phase=FAILED,
)

SPELLINGS = {
    "plain": VALUE,
    "repr": repr(VALUE),
    "json": json.dumps({"token": VALUE}),
    "json as it is": json.dumps(VALUE, ensure_ascii=False),
    "base64": base64.b64encode(VALUE.encode()).decode(),
    "url": f"https://host/?token={quote(VALUE)}",
    "among others": f"a{VALUE}b{VALUE}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_hidden(spelling: str) -> None:
    shown = Redaction.of({"key": VALUE}).text(SPELLINGS[spelling])
    assert "<secret>" in shown
    assert not any(word in shown for word in ("horse", "battery", "aG9yc2U"))


def test_lines_of_a_value_and_texts_in_a_json_value_are_hidden_one_by_one() -> None:
    values = {
        "pem": "first-line\nsecond-line\n",
        "args": '{"token": "in-the-arguments", "pin": 771234}',
    }
    hidden = Redaction.of(values)
    said = [hidden.text(each) for each in ("see second-line", "in-the-arguments!", "pin is 771234")]
    assert said == ["see <secret>", "<secret>!", "pin is <secret>"]


def test_a_short_value_is_a_word_that_stays() -> None:
    assert Redaction.of({"key": "node"}).text("node-0-0") == "node-0-0"


def test_of_two_values_of_which_one_is_in_the_other_nothing_is_left() -> None:
    hidden = Redaction.of({"a": "long-secret", "b": "long-secret-and-more"})
    assert hidden.text("x long-secret-and-more y") == "x <secret> y"


def test_a_run_keeps_what_we_say_and_loses_what_a_program_said() -> None:
    run = replace(
        RUN,
        reason="FailedJobs",
        message=f"pod digits-node-0-0: {VALUE}",
        status={
            "conditions": [{"type": "Failed", "reason": "FailedJobs", "message": VALUE}],
            "trainerStatus": {"metrics": [{"name": "loss", "value": VALUE}]},
        },
        nodes=(Node("digits-node-0-0", "Failed", 10, {"loss": VALUE}, 0),),
        failure=Failure("digits-node-0-0", "Error", 3, ("ok", VALUE)),
        waiting_for=VALUE,
        stuck=VALUE,
        drift={"JobSet digits: spec": VALUE},
    )
    hidden = Redaction.of({"token": VALUE, "phase": "Failed", "run": "digits"}).run(run)
    assert hidden == replace(
        run,
        message="pod <secret>-node-0-0: <secret>",
        status={
            "conditions": [{"type": "Failed", "reason": "FailedJobs", "message": "<secret>"}],
            "trainerStatus": {"metrics": [{"name": "loss", "value": "<secret>"}]},
        },
        nodes=(Node("digits-node-0-0", "Failed", 10, {"loss": "<secret>"}, 0),),
        failure=Failure("digits-node-0-0", "Error", 3, ("ok", "<secret>")),
        waiting_for="<secret>",
        stuck="<secret>",
        drift={"JobSet digits: spec": "<secret>"},
    )


WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=SHORTEST)


@given(WORDS, st.text(), st.text())
def test_no_value_is_left_wherever_it_stands(value: str, before: str, after: str) -> None:
    assume(value not in "<secret>")
    shown = Redaction.of({"key": value}).text(f"{before}{value}{after}")
    assert value not in shown.replace("<secret>", "\0")
