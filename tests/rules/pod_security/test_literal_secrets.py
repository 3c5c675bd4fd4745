"""Planted secrets are found wherever they stand, never shown; what only looks like one is not."""

import base64
import random
import string
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.rules import tree, world
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict, judge
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.value import UNKNOWN
from trainer_infra.secret_texts import values as secret_values

RANDOM = "qW3eR5tY7uI9oP1aS2dF"
LETTERS = "AbCdEfGhIjKlMnOpQrStUvWxYz"

BY_FORM = {
    "hf_" + LETTERS + "abcdefgh": "Hugging Face token",
    "AKIA" + "IOSFODNN7ABCDEFG": "AWS access key",
    "ghp_" + LETTERS + "0123456789": "GitHub token",
    "github_pat_" + LETTERS: "GitHub token",
    "glpat-" + LETTERS: "GitLab token",
    "xoxb-" + "123456789012-AbCdEfGh": "Slack token",
    "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/" + LETTERS: "Slack webhook",
    "AIza" + "SyA-" + LETTERS + "01234": "Google API key",
    "sk-ant-" + "api03-" + LETTERS: "OpenAI or Anthropic key",
    "nvapi-" + LETTERS + LETTERS: "NVIDIA API key",
    "AccountName=a;AccountKey=" + LETTERS * 3 + "012345678==": "Azure storage key",
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiJ0cmFpbiJ9." + LETTERS: "JSON web token",
    "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIE": "private key",
    "-----BEGIN " + "PRIVATE KEY-----": "private key",
    "postgres://train:hunter2@db/digits": "password in a URL",
    "redis://:hunter2@cache:6379": "password in a URL",
    "https://a.blob.core.windows.net/b?sv=2024&sig="
    + LETTERS * 2
    + "%3D": "Azure access signature",
    "wandb login --relogin 3f9a1c7e5b2d8046af13c97be205d486ab7f9e10": "Weights & Biases API key",
    "machine hub.example.com login team password " + "hunter2": "password of a .netrc",
    base64.b64encode(f"hf_{LETTERS}abcdefgh".encode()).decode(): "Hugging Face token",
    base64.b64encode(b"-----BEGIN " + b"RSA PRIVATE KEY-----\nMIIEow").decode(): "private key",
}
"""Made up, and put together here so that nobody's scanner takes them for real ones."""

NO_FORM = (
    "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "hf_transfer",
    "hf://meta-llama/Llama-3.2-1B-Instruct",
    "postgres://train:$(PASSWORD)@db/digits",
    "postgres://train:${PASSWORD}@db/digits",
    "postgres://{user}:{password}@{host}/digits",
    "postgres://train:<password>@db/digits",
    "https://user@example.com:8443/data",
    "http://proxy.example.com:3128/?mail=a@example.com",
    "docker://alpine:3.22@sha256:" + "1" * 64,
    "registry.example.com/train@sha256:" + "0123456789abcdef" * 4,
    "-----BEGIN CERTIFICATE-----\nMIIE",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN train@example.com",
    "task-learning-rate-schedule-with-warmup",
)

SECRET_NAMES = (
    "HF_TOKEN",
    "WANDB_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "MLFLOW_TRACKING_PASSWORD",
    "PGPASSWORD",
    "GOOGLE_CREDENTIALS",
    "API_KEY_2",
    "clientSecret",
    "apiKey",
    "db.password",
    "hub_token",
)

OTHER_NAMES = (
    "TOKENIZER_PATH",
    "TOKENIZERS_PARALLELISM",
    "MAX_TOKENS",
    "PAD_TOKEN_ID",
    "KEYBOARD",
    "PUBLIC_KEY",
    "SSH_PUBLIC_KEY",
    "KEY_COLUMN",
    "KEY",
    "SORT_KEY",
    "CACHE_KEY",
    "TOKEN_FILE",
    "PASSWORD_PATH",
    "SECRET_NAME",
    "secretKeyRef",
    "checksum/secret",
    "BYPASS",
)

ORDINARY = (
    "changeme",
    "my-hf-token",
    "YOUR_TOKEN_HERE",
    "correcthorsebatterystaple",
    "DistributedDataParallel",
    "<|reserved_special_token_0|>",
    "[MASK]",
    "4096",
    "xxxxxxxxxxxxxxxxx1",
    "/var/run/secrets/kubeflow/trainer/token",
    "data/part-00012.parquet",
    "qwen2.5-1.5b-instruct",
    "meta-llama/Llama-3.2-1B-Instruct",
    "2026-11-05T10:20:30Z",
    "vault:secret/data/ml#token",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-a1B2c3",
    "s3://bucket/9f86d081884c7d659a2feaa0c55ad015",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "$(HF_TOKEN)",
    "${HF_TOKEN}",
    "{{ .Values.token }}",
)

COMMANDS = (
    f"--token={RANDOM}",
    f"--hub.api-key={RANDOM}!x(y)",
    f"export HF_TOKEN={RANDOM}; train",
    f"HF_TOKEN={RANDOM} train --data s3://digits",
    f"train --password {RANDOM} --epochs 3",
    f"train --password='{RANDOM}'",
    f'{{"password": "{RANDOM}"}}',
    f"def train():\n    api_key = '{RANDOM}'\n",
)

HARMLESS_COMMANDS = (
    "--token-file=/mnt/secrets/token",
    "--token=$(HF_TOKEN)",
    "--tokenizer=meta-llama/Llama-3.2-1B-Instruct",
    'export HF_TOKEN="$(cat /mnt/secrets/token)"; train',
    "token = os.environ['HF_TOKEN']",
    "tokenizer(text, pad_token='<|pad_0a1b2c3d4e|>', max_tokens=4096)",
    "login(token=settings.huggingFaceTokenV2)",
    "sorted(items, key=lambda each: each.name)",
    "checkpoint_sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "run_id=9f86d081884c7d659a2feaa0c55ad015",
)


def train_job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, **spec},
    }


def judged(*objects: dict[str, Any], **parameters: Any) -> list[RuleVerdict]:
    subjects = tree.subjects_of(objects)
    rule = literal_secrets.RULE
    chosen = ConfiguredRule(rule, rule.severity, rule.parameters(**parameters))
    return list(judge(subjects[0], world.world_of(subjects), [chosen]))


def found(*objects: dict[str, Any], **parameters: Any) -> list[Finding]:
    return [each for one in judged(*objects, **parameters) for each in one.findings]


def of_variable(name: str, value: str) -> list[object]:
    job = train_job(trainer={"env": [{"name": name, "value": value}]})
    return [each.got for each in found(job)]


def seen(name: str, values: Iterable[str]) -> dict[str, list[object]]:
    """What is found of a variable with each of the values."""
    return {value: of_variable(name, value) for value in values}


def none(values: Iterable[str]) -> dict[str, list[object]]:
    return {value: [] for value in values}


@pytest.mark.parametrize("text", ["{}", "see {}, please", '{{"x": "{}"}}', "a={}\n"])
def test_a_secret_of_a_known_form_is_found_by_kind(text: str) -> None:
    expected = {text.format(secret): [kind] for secret, kind in BY_FORM.items()}
    assert seen("GREETING", expected) == expected


def test_what_only_resembles_such_a_form_is_no_secret() -> None:
    assert seen("GREETING", NO_FORM) == none(NO_FORM)


def test_a_random_value_of_a_name_that_says_secret_is_one() -> None:
    assert [name for name in SECRET_NAMES if len(of_variable(name, RANDOM)) != 1] == []


CHOSEN = (
    *("minioadmin", "SummerVision2026", "hunter22", "letmein!", "correcthorsebatterystaple"),
    *("$ecret-2031", "change-Kirschbaum-2031!", "[Kirsch]baum", "*Kirschbaum2031", "~Kirschbaum!"),
    *("%Kirschbaum", "Winter.Kirsch", "P@$$w0rd!", "<Kirsch>baum", "#Kirsch2031", "Kirsch:baum"),
    *("$ECret2031", "Kirsch{baum}", "@Kirsch!baum", "12345678"),
)
NOT_CHOSEN = (
    *("changeme", "your-password", "password", "xxxxxxxx", "<password>", "$(PASSWORD)", "true"),
    *("/run/secrets/password", "${PASSWORD}", "{{ .Values.password }}", "my-secret", "none", ""),
    *("vault:secret/data/ml#password", "a sentence about it", "YOUR_PASSWORD_HERE", "12345"),
    *("$password", "{password}", "%(password)s", "%PASSWORD%", "@PASSWORD@", "__PASSWORD__"),
    *("~/.pgpass", ".data.password", "config.password", "password.txt", "ENC[AES256_GCM,data:x]"),
    *(
        "required",
        "db-password",
        "existing-secret",
        "POSTGRES_PASSWORD",
        "${PW:-}",
        "get_password()",
    ),
)


@pytest.mark.parametrize(
    "name", ["MINIO_ROOT_PASSWORD", "PGPASSWORD", "dbPasswd", "SSH_PASSPHRASE"]
)
def test_a_password_that_a_person_chose_is_one(name: str) -> None:
    assert [value for value in CHOSEN if len(of_variable(name, value)) != 1] == []
    assert seen("MODEL_NAME", CHOSEN) == none(CHOSEN)


@pytest.mark.parametrize("number", [20311224, 20311224.0])
def test_a_password_may_be_a_number(number: float) -> None:
    env = [{"name": "DB_PASSWORD", "value": number}, {"name": "DB_SIZE", "value": number}]
    args = ["--password", number, "--epochs", number]
    data = {"db": {"password": number, "passwordExpires": number, "hasPassword": True}}
    job = train_job(trainer={"env": env, "args": args, "data": data})
    trainer = ("spec", "trainer")
    assert [each.path for each in found(job)] == [
        (*trainer, "env", 0, "value"),
        (*trainer, "args", 1),
        (*trainer, "data", "db", "password"),
    ]


def test_what_stands_for_a_password_is_none() -> None:
    assert seen("MINIO_ROOT_PASSWORD", NOT_CHOSEN) == none(NOT_CHOSEN)


def test_other_names_may_have_random_values() -> None:
    assert [name for name in OTHER_NAMES if of_variable(name, RANDOM)] == []


def test_an_ordinary_value_is_no_secret_whatever_its_name() -> None:
    assert seen("HF_TOKEN", ORDINARY) == none(ORDINARY)


@pytest.mark.parametrize("text", COMMANDS)
def test_a_secret_in_a_command_line_or_in_code_is_found(text: str) -> None:
    [finding] = found(train_job(trainer={"command": ["sh", "-c", text]}))
    assert finding.path == ("spec", "trainer", "command", 2)


@pytest.mark.parametrize("text", HARMLESS_COMMANDS)
def test_command_lines_and_code_without_one_are_left_alone(text: str) -> None:
    assert found(train_job(trainer={"command": ["sh", "-c", text]})) == []


def test_an_option_and_its_value_may_be_two_arguments() -> None:
    [finding] = found(train_job(trainer={"args": ["--api-key", RANDOM, "--name", RANDOM]}))
    assert finding.path == ("spec", "trainer", "args", 1)


def test_a_header_has_a_secret_behind_its_scheme() -> None:
    assert seen("Authorization", ["Bearer $(TOKEN)", "Bearer <token>", "Basic", "enabled"]) == none(
        ["Bearer $(TOKEN)", "Bearer <token>", "Basic", "enabled"]
    )
    assert len(of_variable("Authorization", "Bearer SummerVision2026")) == 1


LISTS: tuple[tuple[list[str], list[str], str, int], ...] = (
    (["curl", "-u", "team:SummerVision2026"], [], "command", 2),
    (["mysqldump"], ["-uteam", "-pSummerVision2026"], "args", 1),
    (["docker", "login", "-u", "team", "-p"], ["SummerVision2026"], "args", 0),
    (["train"], ["--password", "SummerVision2026"], "args", 1),
)


@pytest.mark.parametrize(("command", "args", "field", "index"), LISTS)
def test_a_program_knows_a_password_by_its_place(
    command: list[str], args: list[str], field: str, index: int
) -> None:
    [finding] = found(train_job(trainer={"command": command, "args": args}))
    assert finding.path == ("spec", "trainer", field, index)


@pytest.mark.parametrize(
    "args",
    [
        ["--pass-through", "--num_key_value_heads=8"],
        ["--no-password", "--lr=0.1"],
        ["--token", "--epochs", "3"],
        ["--use_auth_token", "--lr", "0.1"],
        ["-u", "$(USER):$(PASSWORD)"],
        ["--password-stdin", "registry.example.com:5000"],
    ],
)
def test_an_option_is_no_value_of_the_one_before_it(args: list[str]) -> None:
    assert found(train_job(trainer={"command": ["curl"], "args": args})) == []


def test_a_wandb_key_has_a_name_of_its_own() -> None:
    key = "3f9a1c7e5b2d8046af13c97be205d486ab7f9e10"
    assert of_variable("WANDB_API_KEY", key) == ["Weights & Biases API key"]
    assert of_variable("GIT_COMMIT", key) == []


def places(secret: str) -> Iterator[dict[str, Any]]:
    """TrainJobs with a secret in one place each."""
    env = [{"name": "HF_TOKEN", "value": secret}]
    pod = {"containers": [{"name": "node", "env": env}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"template": {"spec": {"replicatedJobs": [job]}}}
    yield train_job(trainer={"env": env})
    yield train_job(trainer={"args": [f"--token={secret}"]})
    yield train_job(trainer={"command": ["sh", "-c", f"HF_TOKEN={secret} train"]})
    yield train_job(initializer={"model": {"env": env}})
    yield train_job(initializer={"dataset": {"storageUri": f"https://a:{secret}@example.com/d"}})
    yield train_job(runtimePatches=[{"manager": "a.io/b", "trainingRuntimeSpec": patch}])
    yield {**train_job(), "metadata": {"name": "digits", "annotations": {"api-token": secret}}}
    yield {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a.py": f"token = '{secret}'"}}


@pytest.mark.parametrize("secret", [RANDOM, "hf_" + LETTERS + LETTERS, "glpat-" + LETTERS])
def test_it_is_found_wherever_it_stands_and_shown_nowhere(secret: str) -> None:
    for each in places(secret):
        [one] = judged(each)
        assert len(one.findings) == 1
        assert secret not in repr(one)
        assert secret not in str(one.findings[0].problem("digits.yaml"))


def test_a_runtime_that_is_not_judged_tells_its_secret_once_for_each_train_job() -> None:
    runtime = catalog.get("deepspeed-distributed").to_wire()
    runtime["metadata"]["name"] = "leaking"
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod["containers"][0]["env"] = [{"name": "HF_TOKEN", "value": RANDOM}]
    job = train_job(runtimeRef={"name": "leaking"})
    subjects = tree.subjects_of([job], [runtime])
    chosen = ConfiguredRule.default(literal_secrets.RULE)
    [one] = judge(subjects[0], world.world_of(subjects), [chosen])
    assert [(each.path, each.inherited) for each in one.findings] == [
        (("spec", "runtimeRef", "name"), True)
    ]
    assert found(job, runtime) == []
    assert len(found(runtime)) == 2


def test_a_value_that_is_not_known_hides_no_other() -> None:
    env = [{"name": "A", "value": UNKNOWN}, {"name": "HF_TOKEN", "value": RANDOM}]
    [one] = judged(train_job(trainer={"env": env}))
    assert [each.path for each in one.findings] == [("spec", "trainer", "env", 1, "value")]
    assert one.unseen == (("spec", "trainer", "env", 0, "value"),)


def test_a_name_may_be_declared_to_hold_no_secret() -> None:
    job = train_job(trainer={"env": [{"name": "DATA_KEY", "value": RANDOM}]})
    assert len(found(job)) == 1
    assert found(job, not_secret=("DATA_KEY",)) == []


def test_the_copy_that_kubectl_keeps_is_not_told_again() -> None:
    copy = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"token": "{RANDOM}"}}'}
    assert found({**train_job(), "metadata": {"name": "digits", "annotations": copy}}) == []


@pytest.mark.parametrize("shipped", catalog.RUNTIMES, ids=lambda each: each.name)
def test_the_catalog_has_no_secret(shipped: Any) -> None:
    assert found(shipped.runtime().to_wire()) == []


@pytest.mark.parametrize(
    ("letters", "length", "least"),
    [
        ("0123456789abcdef", 32, 1.0),
        ("0123456789abcdef", 40, 1.0),
        (string.ascii_letters + string.digits, 20, 0.98),
        (string.ascii_letters + string.digits, 40, 0.99),
        (string.ascii_letters + string.digits + "!@^&?", 12, 0.85),
    ],
)
def test_nearly_all_random_values_are_told_from_words(
    letters: str, length: int, least: float
) -> None:
    dice = random.Random(length)
    values = ["".join(dice.choices(letters, k=length)) for _ in range(1000)]
    assert sum(map(secret_values.looks_secret, values)) / 1000 >= least


def test_random_bytes_are_secret_and_random_uuids_are_not() -> None:
    dice = random.Random(1)
    encoded = [base64.b64encode(dice.randbytes(32)).decode() for _ in range(1000)]
    named = [str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(1000)]
    assert sum(map(secret_values.looks_secret, encoded)) >= 970
    assert sum(map(secret_values.looks_secret, named)) == 0


@pytest.mark.parametrize("part", ["eyJ-", "eyJaaaaaaaaaa.eyJ-", "a-b://", "--token ", 'token="'])
def test_a_long_text_of_beginnings_is_searched_in_one_pass(part: str) -> None:
    assert of_variable("GREETING", part * 50_000) == []
