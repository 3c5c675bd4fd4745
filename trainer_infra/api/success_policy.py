"""`successPolicy` of a JobSet (JobSet v0.12, KEP-135): which Jobs must succeed.

Built by users; fault_tolerance.py puts it on a runtime. A JobSet without one needs all its Jobs.
"""

from collections.abc import Iterator
from typing import Final

from typing_extensions import override

from trainer_infra.api import checked_model
from trainer_infra.api.checked_model import CheckedModel
from trainer_infra.errors import Problem

ALL: Final = "All"
ANY: Final = "Any"


class SuccessPolicy(CheckedModel):
    """When a JobSet is completed."""

    operator: str
    """`All` or `Any` of the Jobs that are looked at."""
    target_replicated_jobs: tuple[str, ...] | None = None
    """Replicated jobs that are looked at; None or empty for every one."""

    @override
    def problems(self) -> Iterator[Problem]:
        """A wrong operator."""
        yield from checked_model.one_of("operator", self.operator, (ALL, ANY))
