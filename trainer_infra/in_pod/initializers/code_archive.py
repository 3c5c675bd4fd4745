"""A job's code as one tar, whose name is the sha256 of its content."""

from __future__ import annotations

import re
from dataclasses import replace

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import STATE, FileListing

_NAME = re.compile("([0-9a-f]{64})[.]tar")


def code_listing(place: str, listing: FileListing) -> FileListing:
    """The listing of the one tar: it is unpacked once its content is what its name says.

    Args:
        place: the URI, for messages.
        listing: what its source has there.

    Raises:
        DownloadFailure: It is not one tar of such a name.
    """
    names = [_NAME.fullmatch(each.path) for each in listing.files]
    if len(names) != 1 or names[0] is None:
        remedy = "`pulumi up` with attempt= raised puts it there again"
        raise DownloadFailure(place, "is not the code of a job, named by its sha256", remedy)
    digest = names[0].group(1)
    path, checksum = f"{STATE}/archives/{digest}", f"sha256:{digest}"
    file = replace(listing.files[0], path=path, checksum=checksum, unpacked="")
    return replace(listing, files=(file,))
