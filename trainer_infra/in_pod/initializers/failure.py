"""Why an initializer fails, in one sentence."""

from __future__ import annotations


class DownloadFailure(Exception):
    """Ends an initializer. Never has a secret in it.

    Args:
        place: the URI or the file, as `StorageUri.shown` has it.
        cause: what is wrong, a clause.
        remedy: what to do about it, a clause; may be empty.
        may_pass: whether the same request may succeed a little later.
    """

    def __init__(self, place: str, cause: str, remedy: str = "", *, may_pass: bool = False) -> None:
        self.cause, self.remedy, self.may_pass = cause, remedy, may_pass
        super().__init__(f"{place}: {cause}{f'; {remedy}' if remedy else ''}")
