"""The schemes of URIs, and what reads each.

Called by `storage_uri`, and by `__main__`.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainer_infra.in_pod.initializers.listing import FileSource
    from trainer_infra.in_pod.initializers.settings import InitializerSettings

SCHEMES = ("hf", "s3", "gs", "az", "https", "file", "pvc", "oci")
"""As messages list them; each is a module of `sources`, with a function `open_source`."""


def open_source(settings: InitializerSettings) -> FileSource:
    """What lists and reads the files of the URI. Imports only what this scheme needs.

    Raises:
        DownloadFailure: The variables of this scheme make no sense.
    """
    scheme = settings.uri.scheme
    module = importlib.import_module(f"trainer_infra.in_pod.initializers.sources.{scheme}")
    source: FileSource = module.open_source(settings)
    return source
