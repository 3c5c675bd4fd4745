"""Results in an object store outlive a spot machine, those on its own disk do not."""

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.scheduling.declared_pools import PREEMPTIBLE_CHECKPOINTS as RULE


@pytest.mark.parametrize(
    ("folder", "findings"),
    [("s3://results", 0), ("/disk/run", 1), ("/tmp/run", 1)],
)
def test_where_results_go(folder: str, findings: int) -> None:
    container = {
        "name": "node",
        "args": ["--output_dir", folder],
        "volumeMounts": [{"name": "disk", "mountPath": "/disk"}],
    }
    pod = {
        "nodeSelector": {"cloud.google.com/gke-spot": "true"},
        "containers": [container],
        "volumes": [{"name": "disk", "hostPath": {"path": "/disk"}}],
    }
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    (jobset,) = tree.subjects_of([{"kind": "JobSet", "spec": {"replicatedJobs": [job]}}])
    judged = judge(jobset, world.world_of([jobset]), [ConfiguredRule.default(RULE)])
    assert sum(len(each.findings) for each in judged) == findings
