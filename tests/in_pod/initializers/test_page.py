"""docs/data-and-models.md: its URIs, variables, patterns and messages are those of the code."""

import re
from pathlib import Path

import pytest

from tests.docs import page
from tests.in_pod.initializers.test_failures import CASES
from trainer_infra.in_pod import initializers
from trainer_infra.in_pod.initializers.__main__ import PERIOD
from trainer_infra.in_pod.initializers.download import CONNECTIONS
from trainer_infra.in_pod.initializers.folder import PART
from trainer_infra.in_pod.initializers.lock import PATIENCE
from trainer_infra.in_pod.initializers.patterns import MODEL_DEFAULT
from trainer_infra.in_pod.initializers.settings import TARGETS, read_settings
from trainer_infra.in_pod.initializers.sources.pvc import CLAIMS
from trainer_infra.in_pod.initializers.storage_uri import SCHEMES, parse_uri
from trainer_infra.rules.data.initializers import TokenReference

PAGE = page.ROOT / "docs" / "data-and-models.md"
TEXT = PAGE.read_text()
URIS = page.table(PAGE, "`STORAGE_URI`", "what arrives")
VARIABLES = page.table(PAGE, "variable", "schemes", "what it is")
MESSAGES = page.table(PAGE, "message", "what to do")
CODE = "".join(each.read_text() for each in Path(initializers.__file__).parent.rglob("*.py"))
OF_LIBRARIES = {
    *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "HF_ENDPOINT"),
}
"""Variables that only a library reads."""


def test_every_scheme_has_a_uri() -> None:
    found = [parse_uri(each, "model") for row in URIS for each in page.codes(row[0])]
    assert list(dict.fromkeys(each.scheme for each in found)) == list(SCHEMES)


@pytest.mark.parametrize("row", VARIABLES, ids=lambda row: row[0])
def test_a_variable_is_read(row: list[str]) -> None:
    schemes = set(page.codes(row[1]))
    assert schemes <= set(SCHEMES)
    for name in page.codes(row[0]):
        assert f'"{name}"' in CODE or f"{name}=" in CODE or name in OF_LIBRARIES


def test_the_policy_knows_every_variable_with_a_secret() -> None:
    names = {each for row in VARIABLES for each in page.codes(row[0])}
    secret = {each for each in names if each.endswith(("_KEY", "PASSWORD", "_TOKEN"))}
    assert len(secret) > 5
    assert secret <= set(TokenReference().env)


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: row[0])
def test_a_message_is_one_of_ours(row: list[str]) -> None:
    (message,) = page.codes(row[0])
    lines = [each.line for each in CASES.values()]
    flat = re.sub(r'"\s+f?"', "", CODE)
    words = re.split(r"\{[^}]*\}", message)
    assert any(message in each for each in lines) or all(each in flat for each in words)


def test_numbers_and_places_are_those_of_the_code() -> None:
    words = " ".join(TEXT.split())
    for said in (
        f"parts have {PART >> 20} MiB, and {CONNECTIONS} connections work at once",
        f"stands still for {PATIENCE:.0f} seconds",
        f"a line every {PERIOD:.0f} seconds",
        f"ignores `{','.join(MODEL_DEFAULT)}` unless",
        f"`{CLAIMS}/` and its name",
        f"a dataset to `{TARGETS['dataset']}`, or with `model` a model to `{TARGETS['model']}`",
        f"; {read_settings('dataset', {'STORAGE_URI': 'hf://a/b'}).attempts} if unset",
    ):
        assert said in words
