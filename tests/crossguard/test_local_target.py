"""A TrainJob that runs on this machine is judged by no rule about clusters."""

import json

import pytest

from tests.crossguard.train_jobs import said, said_of_stack, servicer, train_job
from trainer_infra.rules import packs

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
TRAINER = {
    "image": "train:latest",
    "env": [{"name": "HF_TOKEN", "value": TOKEN}, {"name": "PET_NNODES", "value": "2"}],
}


def rules(target: str) -> set[str]:
    asked, sent = servicer(packs.TRAINING), train_job("job", target, TRAINER)
    of_resource = {each for each, _ in said(asked, sent)}
    return of_resource | {each for each, _, _ in said_of_stack(asked, [sent])}


def test_only_what_makes_sense_on_this_machine_is_said_there() -> None:
    assert rules("local") == {"literal-secrets", "reserved-env"}
    assert rules("kubernetes") >= {
        "literal-secrets", "reserved-env", "image-latest", "cpu-memory-set", "seccomp",
        "default-service-account",
    }  # fmt: skip


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
