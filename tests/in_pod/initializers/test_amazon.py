"""What only Amazon's S3 has: roles, for whose keys STS is asked, and objects whose ETag is not an MD5.

versitygw knows neither, so a server of the tests answers both protocols, as far as this needs them.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer

ROLE = "arn:aws:iam::123456789012:role/reader"
KEYS = (
    "<AccessKeyId>key-of-the-role</AccessKeyId><SecretAccessKey>secret-of-the-role"
    "</SecretAccessKey><SessionToken>session</SessionToken>"
    "<Expiration>2100-01-01T00:00:00Z</Expiration>"
)
ASSUMED = (
    '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>'
    f"<Credentials>{KEYS}</Credentials></AssumeRoleResult></AssumeRoleResponse>"
)
LISTED = (
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>1</Size>"
    "<LastModified>2026-11-26T12:00:00.000Z</LastModified></Contents></ListBucketResult>"
)
REFUSED = "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"


def amazon(path: str, headers: Mapping[str, str]) -> Answer:
    signed = headers.get("Authorization", "")
    if "/sts/" in signed:
        if "Credential=key-of-a-user/" in signed:
            return Answer(200, ASSUMED.encode(), {"Content-Type": "text/xml"})
        return Answer(403, REFUSED.encode(), {"Content-Type": "text/xml"})
    assert "Credential=key-of-the-role/" in signed
    assert headers["X-Amz-Security-Token"] == "session"
    if "list-type=2" in path:
        return Answer(200, LISTED.encode(), {"Content-Type": "application/xml"})
    answer = range_answer(b"a", headers)
    answer.headers["Last-Modified"] = "Thu, 26 Nov 2026 12:00:00 GMT"
    return answer


@pytest.mark.parametrize("key", ["key-of-a-user", "key-of-a-stranger"])
def test_the_key_assumes_the_role(key: str, tmp_path: Path) -> None:
    with WebServer(amazon) as server:
        environment = {
            "STORAGE_URI": "s3://bucket",
            "ENDPOINT": server.url,
            "AWS_ENDPOINT_URL_STS": server.url,
            "ACCESS_KEY_ID": key,
            "SECRET_ACCESS_KEY": "secret-of-a-user",
            "ROLE_ARN": ROLE,
        }
        dataset = Initializer(tmp_path, environment)
        if key == "key-of-a-user":
            dataset.run()
            assert dataset.files() == {"a": b"a"}
        else:
            said = "the key may not assume ROLE_ARN; let it in the role's trust policy"
            assert dataset.run(1).errors == f"dataset: s3://bucket: {said}\n"
        asked = parse_qs(server.bodies[0].decode())
    assert (asked["Action"], asked["RoleArn"]) == (["AssumeRole"], [ROLE])


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_an_etag_is_no_md5_where_s3_encrypts_with_a_key_of_its_own(
    is_encrypted: bool, tmp_path: Path
) -> None:
    tag = '"0123456789abcdef0123456789abcdef"'

    def store(path: str, headers: Mapping[str, str]) -> Answer:
        if "list-type=2" in path:
            listed = LISTED.replace("<Size>", f"<ETag>{tag}</ETag><Size>")
            return Answer(200, listed.encode(), {"Content-Type": "application/xml"})
        answer = range_answer(b"a", headers)
        answer.headers |= {"ETag": tag, "Last-Modified": "Thu, 26 Nov 2026 12:00:00 GMT"}
        if is_encrypted:
            answer.headers["x-amz-server-side-encryption-aws-kms-key-id"] = "key"
        return answer

    with WebServer(store) as server:
        environment = {
            "STORAGE_URI": "s3://bucket",
            "ENDPOINT": server.url,
            "ACCESS_KEY_ID": "key",
            "SECRET_ACCESS_KEY": "secret",
        }
        dataset = Initializer(tmp_path, environment)
        outcome = dataset.run(0 if is_encrypted else 1)
    assert ("arrived damaged" in outcome.errors) != is_encrypted
    assert dataset.files() == ({"a": b"a"} if is_encrypted else {})
