"""`gs://BUCKET/FOLDER`: Google Cloud Storage.

Credentials are those of Google's own variables, and where these are unset those of the pod's
service account, by GKE's workload identity.
"""

from __future__ import annotations

from obstore.store import GCSStore

from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.object_store import ObjectStoreSource, StoreWords

CREDENTIALS = (
    "give the pod's service account a workload identity, or name a key file in "
    "GOOGLE_APPLICATION_CREDENTIALS; for a public bucket set GOOGLE_SKIP_SIGNATURE=true"
)


def open_source(settings: InitializerSettings) -> ObjectStoreSource:
    """Objects of a bucket. ETags are no MD5s where the user's key encrypts, so only sizes are compared."""
    words = StoreWords(settings.uri.shown, f"bucket {settings.uri.authority}", CREDENTIALS)
    config = {"base_url": settings.endpoint} if settings.endpoint else {}
    return ObjectStoreSource(settings, GCSStore, words, {"config": config})
