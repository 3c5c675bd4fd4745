"""`file:///FOLDER`: a folder or file that the pod or this machine has.

Called by `schemes`, by name.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.local_files import LocalSource
from trainer_infra.in_pod.storage import mounted


def open_source(settings: InitializerSettings) -> LocalSource:
    """Files of this file system; a path below a volume is where `mounted` says.

    Raises:
        DownloadFailure: The path is not absolute.
    """
    uri = settings.uri
    if uri.authority:
        remedy = f"write file:///{uri.authority}/{uri.path} if you mean a path"
        raise DownloadFailure(uri.shown, f"names the host {uri.authority}", remedy)
    path = Path(mounted(f"/{unquote(uri.path)}"))
    return LocalSource(settings, path, "a pod has only what is in its image and on its volumes")
