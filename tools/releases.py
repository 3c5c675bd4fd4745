"""Prints what to pin of a release: `python -m tools.releases JobSet v0.12.0`.

For `trainer_infra/platform/releases.py`, when a version is raised. Needs Go, which checks what it
downloads against the public checksum database.
"""

import sys
from dataclasses import replace

from trainer_infra.errors import NotAvailable
from trainer_infra.platform.manifests.release_files import files_digest, module_files
from trainer_infra.platform.releases import release_of


def main(project: str, version: str) -> str:
    """The line of a version of a project that is pinned already.

    Raises:
        NotAvailable: There is no such version.
    """
    release = replace(release_of(project, None), version=version)
    return f'{project} "{version}", "{files_digest(module_files(release))}"'


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:]))
    except NotAvailable as error:
        sys.exit(str(error))
