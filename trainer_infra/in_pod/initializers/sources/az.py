"""`az://CONTAINER/FOLDER`: Azure Blob Storage.

The account is in AZURE_STORAGE_ACCOUNT_NAME, and credentials are those of Azure's own variables,
first those of a workload identity.
"""

from __future__ import annotations

from obstore.store import AzureStore

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.object_store import ObjectStoreSource, StoreWords

ACCOUNT = "AZURE_STORAGE_ACCOUNT_NAME"
CREDENTIALS = (
    "give the pod's service account a workload identity, or set AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_KEY; for a public container set AZURE_SKIP_SIGNATURE=true"
)


def open_source(settings: InitializerSettings) -> ObjectStoreSource:
    """Blobs of a container. Azure's ETags are no checksums, so only sizes are compared.

    Raises:
        DownloadFailure: No account is named, or ENDPOINT or SSL_CERT_FILE make no sense.
    """
    if not settings.variable(ACCOUNT):
        raise DownloadFailure(
            settings.uri.shown, f"{ACCOUNT} is not set", "set it to the account's name"
        )
    words = StoreWords(settings.uri.shown, f"container {settings.uri.authority}", CREDENTIALS)
    config = {"endpoint": settings.endpoint} if settings.endpoint else {}
    return ObjectStoreSource(settings, AzureStore, words, {"config": config})
