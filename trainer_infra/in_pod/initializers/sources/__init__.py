"""One file for each scheme, and what several of them share: object stores, and byte ranges over HTTP."""

from __future__ import annotations

import importlib

from trainer_infra.in_pod import own_place
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import FileSource
from trainer_infra.in_pod.initializers.settings import InitializerSettings


def open_source(settings: InitializerSettings) -> FileSource:
    """What lists and reads the files of the URI. Imports only what this scheme needs.

    Raises:
        DownloadFailure: A package is missing, or the variables of this scheme make no sense.
    """
    scheme = settings.uri.scheme
    try:
        module = importlib.import_module(f"trainer_infra.in_pod.initializers.sources.{scheme}")
    except ModuleNotFoundError as error:
        cause = f"{scheme}:// needs the package {error.name}, which is not installed here"
        remedy = f"run `{own_place.install_command('initializers')}`"
        raise DownloadFailure(settings.uri.shown, cause, remedy) from None
    source: FileSource = module.open_source(settings)
    return source
