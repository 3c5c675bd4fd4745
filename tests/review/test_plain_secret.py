"""A Secret that a file of a repository has whole is a finding, and its values are in no report."""

import base64
from dataclasses import replace

import pytest
import yaml

from tests.review import checked
from trainer_infra.review import sources
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Report


def secret(part: str = "stringData", **values: str) -> str:
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub"}, part: values}
    return yaml.safe_dump(value)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def found(text: str) -> Report:
    return checked.of_text(text, "literal-secrets")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (secret(ACCESS_TOKEN="SummerVision2026"), "stringData.ACCESS_TOKEN"),
        (secret("data", password=encoded("minioadmin")), "data.password"),
        (secret("data", password="not base64!"), "data.password"),
        (secret(user="minio", password="minioadmin"), "stringData.password"),
    ],
)
def test_what_a_secret_is_to_keep_is_found_in_a_file(text: str, path: str) -> None:
    (item,) = found(text).failing()
    assert item.path == path
    assert item.severity == "critical"


def test_all_of_one_secret_is_one_finding() -> None:
    (item,) = found(secret(a="SummerVision2026", b="WinterVision2027", c="Other1")).failing()
    assert item.what == "is a secret that everybody can use who reads this file, as 2 more"


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
        f"{secret(password='ENC[AES256_GCM,data:a]')}sops: {{}}\n",
        secret(password="SummerVision2026").replace("Secret", "SealedSecret"),
    ],
)
def test_what_is_filled_in_later_or_open_is_none(text: str) -> None:
    assert found(text).items == ()


def test_a_secret_that_a_cluster_prints_is_none_of_a_file() -> None:
    (document,) = sources.of_text(secret(password="SummerVision2026"), sources.STDIN).documents
    documents = [replace(document, is_editable=False)]
    assert checked.of(documents, "literal-secrets").items == ()


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_it(form: str) -> None:
    report = found(secret("data", password=encoded("SummerVision2026")))
    told = FORMATS[form](report)
    assert "password" in told
    assert "SummerVision2026" not in told
    assert encoded("SummerVision2026") not in told
