"""`pvc://CLAIM/FOLDER`: a folder or file of a volume claim, which the driver mounts read-only."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.file import LocalSource
from trainer_infra.in_pod.storage import mounted

CLAIMS = "/opt/trainer-infra/claims"
"""Where a driver mounts the claim, at `CLAIMS/<name of the claim>`; `storage.mounted` moves it on this machine."""


def open_source(settings: InitializerSettings) -> LocalSource:
    """Files of a claim.

    Raises:
        DownloadFailure: It is not mounted.
    """
    uri = settings.uri
    claim = Path(mounted(f"{CLAIMS}/{uri.authority}"))
    if not claim.is_dir():
        raise DownloadFailure(
            uri.shown,
            f"the claim {uri.authority} is not mounted at {claim}",
            "see whether there is a claim of that name in the namespace",
        )
    path = Path(os.path.realpath(claim / unquote(uri.path)))
    if Path(os.path.realpath(claim)) not in (path, *path.parents):
        raise DownloadFailure(uri.shown, "leads out of the claim", "write the path below it")
    there = sorted(each.name for each in claim.iterdir())[:5]
    return LocalSource(settings, path, f"the claim has {', '.join(there) or 'no files'}")
