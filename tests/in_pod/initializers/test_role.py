"""ROLE_ARN with a key: Amazon's STS is asked for the role's own keys, which sign what follows.

versitygw knows no session tokens, so one server of the tests answers both protocols, as far as this needs them.
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
