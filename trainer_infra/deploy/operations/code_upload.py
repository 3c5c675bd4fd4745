"""A job's code on its way into a store: the tar that a preview made, under its hash, once it is whole.

Who runs `pulumi up` needs the right to write there: AWS's, Google's and Azure's own variables and
files say who that is. What is there is not sent again, and stays when the job is gone.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urlsplit

from trainer_infra.errors import NotAvailable
from trainer_infra.in_pod.initializers.failure import DownloadFailure, with_attempts
from trainer_infra.in_pod.initializers.patterns import Patterns
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources import open_source
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.trainers.custom import stored_code

if TYPE_CHECKING:
    from trainer_infra.in_pod.initializers.sources.object_store import ObjectStoreSource

ATTEMPTS: Final = 4
_OF_PODS: Final = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ROLE_ARN", "REGION", "ENDPOINT")
"""Variables of an initializer that mean nothing on a machine of a person."""
_CREDENTIALS: Final = {
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "run `gcloud auth application-default login`, or name a key file in "
    "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY, or run `az login` and set "
    "AZURE_USE_AZURE_CLI=true",
}
"""What a person does about credentials that are missing or refused, by scheme."""


def upload(address: str) -> None:
    """Have the tar of an address there.

    Raises:
        NotAvailable: A package is missing, the store refuses, or this machine has the tar no more.
    """
    file = stored_code.kept_folder() / address.rpartition("/")[2]
    try:
        if address.startswith("file://"):
            _copy(file, Path(unquote(urlsplit(address).path)))
        else:
            _send(file, address)
    except DownloadFailure as failure:
        raise NotAvailable(f"the code cannot be kept: {failure}") from None
    except OSError as error:
        raise NotAvailable(f"the code cannot be kept at {address}: {error}") from None


def _copy(file: Path, place: Path) -> None:
    if place.is_file() and (not file.exists() or place.stat().st_size == file.stat().st_size):
        return
    _require(file)
    with file.open("rb") as content:
        stored_code.write_whole(place, content)


def _require(file: Path) -> None:
    if not file.is_file():
        raise DownloadFailure(str(file), "is gone", "run `pulumi up` again, which makes it")


def _send(file: Path, address: str) -> None:
    source = _store(address)
    # With the extra, which `_store` has looked for.
    import obstore  # noqa: PLC0415  see above
    from obstore.exceptions import BaseError  # noqa: PLC0415  the same

    from trainer_infra.in_pod.initializers.sources.object_store import store_failure  # noqa: PLC0415  the same

    path = source.settings.uri.path

    def is_there() -> bool:
        try:
            found = obstore.head(source.store, path)
        except (BaseError, FileNotFoundError):
            # Who may write but not list is refused here; a refused write says more.
            return False
        return not file.exists() or bool(found["size"] == file.stat().st_size)

    def sent() -> None:
        try:
            if not is_there():
                _require(file)
                obstore.put(source.store, path, file)
        except (BaseError, FileNotFoundError) as error:
            advice = _CREDENTIALS[source.settings.uri.scheme]
            words = replace(source.words, credentials=advice, deed="write")
            raise store_failure(error, words) from None

    with_attempts(ATTEMPTS, sent)


def _store(address: str) -> "ObjectStoreSource":
    """The store, with the credentials of who runs this.

    Raises:
        DownloadFailure: A package or a variable is missing, or AWS's files make no sense.
    """
    own = {key: each for key, each in os.environ.items() if key not in _OF_PODS}
    settings = InitializerSettings("code", parse_uri(address, "code"), Path(), Patterns(), own)
    if settings.uri.scheme == "s3":
        return _of_amazon(settings)
    return cast("ObjectStoreSource", open_source(settings))


def _of_amazon(settings: InitializerSettings) -> "ObjectStoreSource":
    """The store with what AWS's own variables and files say: keys, profiles, single sign-on."""
    endpoint = settings.variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    environment = {**settings.environment, "ENDPOINT": endpoint}
    made = cast("ObjectStoreSource", open_source(replace(settings, environment=environment)))
    import boto3  # type: ignore[import-untyped]  # noqa: PLC0415  of the extra, which is there by now
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]  # noqa: PLC0415  the same
    from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415  the same
    from obstore.store import S3Store  # noqa: PLC0415  the same

    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            what = "there are no credentials"
            raise DownloadFailure(settings.uri.shown, what, _CREDENTIALS["s3"])
        said = {"region": session.region_name, "endpoint": endpoint.rstrip("/")}
        config: Any = {key: each for key, each in said.items() if each}
        made.store = S3Store(
            settings.uri.authority,
            config=config,
            client_options=made.store.client_options,
            retry_config=made.store.retry_config,
            credential_provider=Boto3CredentialProvider(session),
        )
    except BotoCoreError as error:
        what = f"AWS's settings cannot be used: {error}"
        fix = "see what `aws sts get-caller-identity` says"
        raise DownloadFailure(settings.uri.shown, what, fix) from None
    return made
