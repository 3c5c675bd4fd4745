"""A TrainJob that runs on this machine is judged by no rule about clusters."""

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
