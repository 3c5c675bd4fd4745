"""`file:///FOLDER`: a folder or file that the pod or this machine has."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.local_files import LocalSource
from trainer_infra.in_pod.storage import mounted


def open_source(settings: InitializerSettings) -> LocalSource:
    """Files of this file system; a path below a volume is where `mounted` says."""
    path = Path(mounted(f"/{unquote(settings.uri.path)}"))
    return LocalSource(settings, path, "a pod has only what is in its image and on its volumes")
