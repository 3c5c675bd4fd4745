"""`trainer-infra crds`: the CustomResourceDefinitions of the typed kinds, as text.

What it prints is applied with `kubectl apply -f -`; api/crd.py makes it.
"""

from collections.abc import Sequence

from trainer_infra.api import crd
from trainer_infra.cli import render
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.words import listed


def crds_text(kinds: Sequence[str], output: str) -> str:
    """The CRDs as YAML documents, or as one JSON List.

    Args:
        kinds: TrainJob, TrainingRuntime or ClusterTrainingRuntime; none for all three.
        output: yaml or json.

    Raises:
        InvalidInput: a name is none of these.
    """
    unknown = [kind for kind in kinds if kind not in crd.KINDS]
    if unknown:
        raise InvalidInput(
            Problem("", "no such kind", kind, f"use {listed(crd.KINDS, 'or')}") for kind in unknown
        )
    return render.objects_text(crd.crd_definitions(kinds or crd.KINDS), output)
