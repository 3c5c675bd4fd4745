"""What renders and decides a TrainJob of engine `provider`: the plugins of every engine, then its own.

Objects rendered with it are what `submit` stores; a preview renders with the same.
"""

from trainer_infra.cluster import run_labels
from trainer_infra.cluster.provider import active_deadline_seconds, report_file
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import kueue
from trainer_infra.runs.run import Owner


def provider_behaviour(plugins: tuple[Plugin, ...], owner: Owner) -> Behaviour:
    """The behaviour of this engine for the runs of an owner."""
    own = (
        active_deadline_seconds.PLUGIN,
        report_file.PLUGIN,
        kueue.LABELS_OF_TRAIN_JOB,
        run_labels.labels_plugin(owner),
    )
    return Behaviour((*plugins, *own))
