"""What the engine sends is plain JSON to rules, in which unknown values are marked."""

from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY
from pulumi_policy.proxy import UNKNOWN_NUMBER_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from trainer_infra.crossguard import values
from trainer_infra.rules.value import UNKNOWN


def test_what_is_sent_is_plain_and_secrets_are_open() -> None:
    sent = Struct()
    secret: dict[str, Any] = {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": {"token": "hf"}}
    sent.update({"nodes": 2, "lr": 0.5, "on": True, "none": None, "list": ["a", 1], "s": secret})
    plain = values.plain_value(sent)
    assert plain == {
        "nodes": 2, "lr": 0.5, "on": True, "none": None, "list": ["a", 1], "s": {"token": "hf"}
    }  # fmt: skip
    assert isinstance(plain["nodes"], int)


@pytest.mark.parametrize("unknown", [UNKNOWN_STRING_VALUE, UNKNOWN_NUMBER_VALUE])
def test_unknown_values_are_marked_and_sent_back_as_such(unknown: str) -> None:
    given = {"image": unknown, "args": ["a", unknown]}
    sent = Struct()
    sent.update(given)
    marked = {"image": UNKNOWN, "args": ["a", UNKNOWN]}
    assert values.plain_value(sent) == marked
    assert values.plain_value(unknown_checking_proxy(given)) == marked
    back = {"image": UNKNOWN_STRING_VALUE, "args": ["a", UNKNOWN_STRING_VALUE]}
    assert values.to_engine(marked) == back
