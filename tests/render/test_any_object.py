"""Whatever the schemas allow: rendering gives objects or problems, and changes nothing."""

import copy
from typing import Any

from hypothesis import event, given, settings

from tests.render.any_object import runtimes, train_jobs
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.shape import schema
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour


def outcome(job: TrainJob, runtime: ClusterTrainingRuntime, *, behaviour: Behaviour) -> Any:
    try:
        return pipeline.render(job, runtime, behaviour=behaviour)
    except InvalidInput as error:
        return error.problems


@settings(max_examples=300)
@given(job=train_jobs(), runtime=runtimes())
def test_any_valid_input_is_rendered_or_refused_and_never_changed(
    job: dict[str, Any], runtime: dict[str, Any]
) -> None:
    found = (
        *schema.schema_findings(job, "TrainJob"),
        *schema.schema_findings(runtime, "ClusterTrainingRuntime"),
    )
    event("refused by the schema" if found else "valid")
    if found:
        return
    before = copy.deepcopy((job, runtime))
    typed = TrainJob.from_wire(job), ClusterTrainingRuntime.from_wire(runtime)

    for behaviour in (OURS, REFERENCE):
        first = outcome(*typed, behaviour=behaviour)
        event(
            f"{'ours' if behaviour is OURS else 'reference'}: {'refused' if first and not isinstance(first[0], dict) else 'rendered'}"
        )
        assert outcome(*typed, behaviour=behaviour) == first

    assert (job, runtime) == before
    assert (typed[0].to_wire(), typed[1].to_wire()) == before
