"""`s3://BUCKET/FOLDER`: Amazon S3 and what speaks its protocol.

Variables are those of the reference (behaviour 7.1); where they are unset, AWS's own count, first
those of a workload identity.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta, timezone
from typing import Any

import httpx2
import obstore
from obstore.store import S3Store
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import RemoteFile
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.object_store import ObjectStoreSource, StoreWords

CREDENTIALS = (
    "set ACCESS_KEY_ID and SECRET_ACCESS_KEY, or give the pod's service account a role; "
    "for a public bucket set AWS_SKIP_SIGNATURE=true"
)
OTHER_DIGESTS = (
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-aws-kms-key-id",
)
"""Headers of objects whose ETag is not an MD5."""


class S3Source(ObjectStoreSource):
    """Objects of a bucket.

    Raises:
        DownloadFailure: Only one of a pair of variables is set.
    """

    def __init__(self, settings: InitializerSettings) -> None:
        key, secret = settings.variable("ACCESS_KEY_ID"), settings.variable("SECRET_ACCESS_KEY")
        if bool(key) != bool(secret):
            missing = "SECRET_ACCESS_KEY" if key else "ACCESS_KEY_ID"
            raise DownloadFailure(
                settings.uri.shown, f"{missing} is not set", "set both or none of the two"
            )
        role = settings.variable("ROLE_ARN")
        region = settings.variable("REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
        options: dict[str, Any] = {"endpoint": settings.endpoint, "region": region}
        provider = None
        if role and key:
            provider = _role_of_keys(key, secret, role, region)
        else:
            # Without keys the role is that of a web identity: its token is in a file which AWS's variables name.
            options |= {"access_key_id": key, "secret_access_key": secret, "role_arn": role}
        config = {name: value for name, value in options.items() if value}
        words = StoreWords(settings.uri.shown, f"bucket {settings.uri.authority}", CREDENTIALS)
        store = {"config": config, "credential_provider": provider}
        super().__init__(settings, S3Store, words, store, has_md5=True)

    @override
    def vouches_for(self, file: RemoteFile) -> bool:
        """Whether the ETag is an MD5: not of an object that S3 encrypts with a key of its own or of the user."""
        if not file.checksum.startswith("md5:"):
            return True
        url = obstore.sign(self.store, "HEAD", file.location, timedelta(minutes=5))
        try:
            found = httpx2.head(url, timeout=30)
        except httpx2.HTTPError:
            return True
        return not any(each in found.headers for each in OTHER_DIGESTS)


def _role_of_keys(key: str, secret: str, role: str, region: str) -> Callable[[], Any]:
    """What answers the keys of a role that this key may assume, for an hour each time."""
    import boto3  # type: ignore[import-untyped]  # noqa: PLC0415  slow to import, and few need it
    from botocore.config import Config  # type: ignore[import-untyped]  # noqa: PLC0415  the same

    client = boto3.client(
        "sts",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=region or "us-east-1",
        config=Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3}),
    )

    def assume() -> Any:
        found = client.assume_role(RoleArn=role, RoleSessionName="trainer-infra-initializer")
        keys = found["Credentials"]
        return {
            "access_key_id": keys["AccessKeyId"],
            "secret_access_key": keys["SecretAccessKey"],
            "token": keys["SessionToken"],
            # obstore takes no other time zone.
            "expires_at": keys["Expiration"].astimezone(timezone.utc),
        }

    return assume


open_source = S3Source
