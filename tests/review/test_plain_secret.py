"""A Secret that a file of a repository has whole is a finding, and its values are in no report."""

import base64
import json
from dataclasses import replace

import pytest
import yaml

from tests.review import checked
from trainer_infra.review import source_objects
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Report


def secret(part: str = "stringData", **values: str) -> str:
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub"}, part: values}
    return yaml.safe_dump(value)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def found(text: str) -> Report:
    return checked.of_text(text, "literal-secrets")


GOOGLE = json.dumps(
    {
        "type": "service_account",
        "project_id": "acme",
        "private_key": "-----BEGIN PRIVATE KEY-----\nMIIE",
    }
)
AWS = "[default]\naws_access_key_id = AKIAQYLPMN5HNM3TVC2D\naws_secret_access_key = kWcrlUX5JEDGMLPUxFiCY"
DOCKER = json.dumps({"auths": {"r.example": {"auth": "dGVhbTpTdW1tZXJWaXNpb24="}}})
RCLONE = "[gcs]\ntype = s3\nprovider = AWS\nsecret_access_key = SummerVision2026"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (secret(ACCESS_TOKEN="SummerVision2026"), "stringData.ACCESS_TOKEN"),
        (secret("data", password=encoded("minioadmin")), "data.password"),
        (secret("data", password="not base64!"), "data.password"),
        (secret(user="minio", password="minioadmin"), "stringData.password"),
        (secret(**{"key.json": GOOGLE}), "stringData[key.json]"),
        (secret("data", **{"key.json": encoded(GOOGLE)}), "data[key.json]"),
        (secret(credentials=AWS), "stringData.credentials"),
        (secret(**{".dockerconfigjson": DOCKER}), "stringData[.dockerconfigjson]"),
        (secret("data", **{".dockerconfigjson": encoded(DOCKER)}), "data[.dockerconfigjson]"),
        (secret(**{"rclone.conf": RCLONE}), "stringData[rclone.conf]"),
        (secret(**{".env": "HF_TOKEN=SummerVision2026"}), "stringData[.env]"),
        (secret(**{"config.yaml": "host: a\npassword: Kirschbaum"}), "stringData[config.yaml]"),
        (secret(password="$ecret-Kirschbaum"), "stringData.password"),
        (secret(password="P@$$w0rd!"), "stringData.password"),
        (secret(password="change-Kirschbaum-2031!"), "stringData.password"),
        (secret(password="your2Dogs&cat"), "stringData.password"),
        (secret(password="<Kirsch>baum"), "stringData.password"),
        (secret(password="{not a placeholder"), "stringData.password"),
        (secret(password="[Kirsch]baum"), "stringData.password"),
        (secret(password="%Kirschbaum"), "stringData.password"),
        (secret(user="hf_abcdefghijABCDEFGHIJ0123456789abcd"), "stringData.user"),
        (secret(url="postgres://team:Kirschbaum@db/x"), "stringData.url"),
        (secret(url="postgres://team:${PW}@db/x", token="Kirschbaum"), "stringData.token"),
    ],
)
def test_what_a_secret_is_to_keep_is_found_in_a_file(text: str, path: str) -> None:
    (item,) = found(text).failing()
    assert item.path == path
    assert item.severity == "critical"


def test_all_of_one_secret_is_one_finding() -> None:
    (item,) = found(secret(a="SummerVision2026", b="WinterVision2027", c="Other1")).failing()
    assert item.what == "is a secret that everyone who reads this file can use, as 2 more"


@pytest.mark.parametrize(
    "text",
    [
        secret(),
        secret(password=""),
        secret(password="<your password>"),
        secret(password="${PASSWORD}"),
        secret(password="changeme"),
        secret(password="xxxxxxxx"),
        secret("data", password=encoded("REPLACE_ME")),
        secret(**{"ca.crt": "-----BEGIN CERTIFICATE-----", "username": "team"}),
        secret(**{"id.pub": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEx8 team"}),
        *(
            secret(password=each)
            for each in (
                "$(PASSWORD)",
                "$PASSWORD",
                "{{ .Values.password }}",
                "{password}",
                "[your password]",
                "%(password)s",
                "%PASSWORD%",
                "@PASSWORD@",
                "<path:kv/data/hub#token>",
                "change-me",
                "YOUR_TOKEN_HERE",
                "yourTokenHere",
                "insert-hf-token-here",
                "replace_with_real_value",
                "TODO: set password",
                "hf_xxxxxxxxxxxxxxxx",
                "********",
                "...",
                "vault:kv/data/hub#token",
                "ref+vault://kv/hub#/token",
                "op://ml/hub/token",
                "ENC[AES256_GCM,data:a,type:str]",
                "Bearer ${TOKEN}",
                "postgres://team:${PW}@db/x",
            )
        ),
        secret(**{".dockerconfigjson": '{"auths": {}}'}),
        secret(**{".dockerconfigjson": '{"auths": {"r": {"auth": "<base64>"}}}'}),
        secret(**{"key.json": '{"type": "service_account", "private_key": "${KEY}"}'}),
        secret(
            credentials="[default]\naws_access_key_id = ${ID}\naws_secret_access_key = ${KEY}\n"
        ),
        secret(**{"rclone.conf": "[s3]\ntype = s3\nprovider = AWS\nsecret_access_key = <key>"}),
        secret(**{"hub.enc": '{"data": "ENC[AES256_GCM,data:a]", "sops": {"version": "3.9.0"}}'}),
        secret("data", TOKEN=encoded("ENC[AES256_GCM,data:a]"), sops_version=encoded("3.9.0")),
        f"{secret(password='ENC[AES256_GCM,data:a]')}sops: {{}}\n",
        secret(password="SummerVision2026").replace("Secret", "SealedSecret"),
    ],
)
def test_what_is_filled_in_later_or_open_is_none(text: str) -> None:
    assert found(text).items == ()


def test_a_secret_that_a_cluster_prints_is_none_of_a_file() -> None:
    text = secret(password="SummerVision2026").replace("name: hub", "name: hub\n  uid: 6f0e")
    assert found(text).items == ()


def test_what_a_tool_has_built_of_a_file_is_found_as_well() -> None:
    (document,) = source_objects.of_text(secret(password="SummerVision2026"), "a.yaml").documents
    built = replace(
        document, value={**document.value, "metadata": {"name": "x"}}, is_editable=False
    )
    assert [each.path for each in checked.of([built], "literal-secrets").items] == [
        "stringData.password"
    ]
    drawn = replace(built, drawn=frozenset({("stringData", "password")}))
    assert checked.of([drawn], "literal-secrets").items == ()


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_it(form: str) -> None:
    report = found(secret("data", password=encoded("SummerVision2026")))
    told = FORMATS[form](report)
    assert "password" in told
    assert "SummerVision2026" not in told
    assert encoded("SummerVision2026") not in told
