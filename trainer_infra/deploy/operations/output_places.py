"""Where the outputs of a run are kept, and wheels are, on the target that a stack chose. Pure.

`trainers.kept_outputs` has the addresses; here is what a target and a stack's configuration make of
them.
"""

from collections.abc import Mapping

from trainer_infra import home_folders, names
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
    return {key: place_of(job, each) for key, each in places.items()}


def packages_to_install(job: TrainJobProperties) -> tuple[str, ...]:
    """The packages of a run as its target installs them: with wheels of a claim in its folder."""
    links = names.FIND_LINKS
    return tuple(
        f"{links}{place_of(job, each.removeprefix(links))}" if each.startswith(links) else each
        for each in job.packages
    )


def place_of(job: TrainJobProperties, address: str) -> str:
    """An address on the run's target: on this machine a folder stands for volume claims, one for each namespace."""
    if job.target != targets.LOCAL or not address.startswith(kept_outputs.CLAIM):
        return address
    path = address.removeprefix(kept_outputs.CLAIM)
    return f"{home_folders.state_home()}/volumes/{job.namespace}/{path}"
