"""The certificate that the reference's manager reads from files when it makes none itself.

Its folder is fixed in the manager (reference behaviour 8.2).
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from trainer_infra.controller.admission_webhooks import FOLDER
from trainer_infra.keys import server_certificate


@contextmanager
def in_its_folder() -> Iterator[None]:
    """A certificate in that folder; what this made goes again."""
    if (FOLDER / "tls.crt").exists():
        yield
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = server_certificate.make_certificate("127.0.0.1")
    (FOLDER / "tls.crt").write_bytes(made.server)
    (FOLDER / "tls.key").touch(mode=0o600)
    (FOLDER / "tls.key").write_bytes(made.key)
    try:
        yield
    finally:
        shutil.rmtree(FOLDER)
