"""What a program writes into code, arguments and variables: secrets in it are found, and told nowhere."""

import json

import pytest

from tests.crossguard.train_jobs import said, said_of_stack, servicer, train_job
from trainer_infra.rules import packs

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
PASSWORD = "SummerVision2026"


def said_of_code(target: str, **files: str) -> list[tuple[str, str]]:
    sent = train_job("job", target)
    code = {"files": files, "packages": [], "secretArgs": True}
    sent["properties"].update({"code": code, "secretData": {"HF_TOKEN": TOKEN}})
    return [each for each in said(servicer(packs.TRAINING), sent) if each[0] == "literal-secrets"]


@pytest.mark.parametrize("target", ["local", "kubernetes"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", f'import os\nos.environ["HF_TOKEN"] = "{TOKEN}"\n'),
        ("train.py", f'from huggingface_hub import login\nlogin(token="{TOKEN}")\n'),
        ("train.py", f'def train(password: str = "{PASSWORD}"): ...\n'),
        ("args.json", json.dumps({"hub": {"token": TOKEN}})),
        ("args.json", json.dumps({"password": PASSWORD})),
    ],
)
def test_a_secret_in_code_and_in_its_arguments_is_found_and_not_told(
    target: str, name: str, text: str
) -> None:
    (only,) = said_of_code(target, **{name: text})
    assert only[1].startswith(f"code.files[{name}]: has a secret in it")
    assert "give its successor as Secret(...)" in only[1]
    assert TOKEN not in only[1]
    assert PASSWORD not in only[1]


@pytest.mark.parametrize("target", ["local", "kubernetes"])
def test_code_that_reads_a_secret_and_what_we_add_to_it_have_none(target: str) -> None:
    reads = 'import os\nlogin(token=os.environ["HF_TOKEN"])\n'
    ours = f'password = "{PASSWORD}"\n'
    assert said_of_code(target, **{"train.py": reads, "main.py": ours, "args.json": "{}"}) == []


def test_no_message_has_a_secret_of_its_object() -> None:
    trainer = {
        "image": f"registry.example.com/{PASSWORD}:latest",
        "env": [{"name": "DB_PASSWORD", "value": PASSWORD}, {"name": TOKEN, "value": "1"}],
    }
    sent, asked = train_job("job", "kubernetes", trainer), servicer(packs.TRAINING)
    told = [*said(asked, sent), *said_of_stack(asked, [sent])]
    assert {"image-latest", "literal-secrets"} <= {each[0] for each in told}
    assert [each for each in told if PASSWORD in str(each) or TOKEN in str(each)] == []
