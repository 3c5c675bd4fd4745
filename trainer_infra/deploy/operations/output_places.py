"""Where the outputs of a run are kept on the target that a stack chose. Pure.

`trainers.kept_outputs` has the addresses; here is what a target and a stack's configuration make of
them. Called by `declared_run`, `rendering` and `options`.
"""

from collections.abc import Mapping

from trainer_infra import home_folders
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.trainers import kept_outputs


def outputs_root(job: TrainJobProperties) -> str:
    """The address below which a run's outputs are kept where they have none of their own."""
    if given := job.json.get("outputsAt"):
        return str(given)
    return f"{home_folders.state_home()}/outputs" if job.target == targets.LOCAL else ""


def output_places(job: TrainJobProperties, name: str) -> Mapping[str, str]:
    """Where each output of the run of that name is kept."""
    run = {"namespace": job.namespace, "run": name}
    # What is no mapping is a problem of the options, which are judged besides.
    given = job.outputs if isinstance(job.outputs, Mapping) else {}
    places = kept_outputs.output_addresses(given, outputs_root(job), run)
    if job.target != targets.LOCAL:
        return places
    # The folder that stands for volume claims on this machine has one for each namespace in it.
    volumes = f"{home_folders.state_home()}/volumes/{job.namespace}/"
    return {
        key: each.replace(kept_outputs.CLAIM, volumes)
        if each.startswith(kept_outputs.CLAIM)
        else each
        for key, each in places.items()
    }
