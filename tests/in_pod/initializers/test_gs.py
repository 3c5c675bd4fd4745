"""gs:// against a server of the S3 protocol, in which Google's XML interface lists and reads too.

What only Google can answer, its credentials, is tried as far as it goes without them: test_failures.
"""

import json
from pathlib import Path

from from_source.cluster.versitygw import S3Server
from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise, s3_client, upload, write


def test_a_public_bucket_arrives(s3: S3Server, bucket: Path, tmp_path: Path) -> None:
    files = {"data/big.bin": noise(20 * MIB), "data/a.txt": b"a", "other": b"o"}
    statement = {
        "Effect": "Allow",
        "Principal": "*",
        "Action": ["s3:ListBucket", "s3:GetObject"],
        "Resource": [f"arn:aws:s3:::{bucket.name}", f"arn:aws:s3:::{bucket.name}/*"],
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    for name, content in files.items():
        upload(s3, bucket, name, content)
    with s3_client(s3) as client:
        client.put_bucket_policy(Bucket=bucket.name, Policy=json.dumps(policy))
    dataset = Initializer(
        tmp_path / "volume",
        {
            "STORAGE_URI": f"gs://{bucket.name}/data",
            "ENDPOINT": s3.url,
            "GOOGLE_SKIP_SIGNATURE": "true",
        },
    )
    dataset.run()
    assert dataset.files() == {"a.txt": b"a", "big.bin": files["data/big.bin"]}
    write(bucket, {"data/without-etag": b"w"})
    outcome = dataset.run(1, IGNORE_PATTERNS="none")
    assert "the server's answer makes no sense: ETag Header missing from response" in outcome.errors
    outcome = dataset.run(1, STORAGE_URI="gs://no-such-bucket")
    said = "there is no bucket no-such-bucket; see whether the URI is right"
    assert outcome.errors == f"dataset: gs://no-such-bucket: {said}\n"
