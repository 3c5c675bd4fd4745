"""Packages that a job wants, which no cluster installs. Pure."""

from collections.abc import Sequence

from trainer_infra.errors import Problem


def unsupported_packages(wanted: Sequence[str]) -> tuple[Problem, ...]:
    """A problem where a job wants packages: its image has to have them."""
    if not wanted:
        return ()
    what = "are installed on this machine only; in a cluster the image has what the job needs"
    fix = "build them into the image, and set trainer.image"
    return (Problem("packages", what, list(wanted), fix),)
