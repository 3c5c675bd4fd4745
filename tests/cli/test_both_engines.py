"""The commands about runs in a cluster that has runs of both engines."""

import json

from tests.cli.conftest import Team
from tests.cluster import trainer
from tests.cluster.submissions import Job
from tests.cluster.trainer import ReconciledCluster

CLUSTER = ("--target", "kubernetes")


def test_runs_of_both_engines_are_listed_and_each_verb_goes_to_the_engine_of_its_run(
    team: Team,
) -> None:
    trainer.install_runtimes(team.world.client)
    controlled = ReconciledCluster(str(team.kubeconfig), team.world)
    team.submit("plain")
    controlled.submit(Job(team.world.namespace, "stored", engine="controller").submission())

    listed = json.loads(team.command("get", "-o", "json", *CLUSTER).out)["items"]
    assert [each["name"] for each in listed] == ["plain", "stored"]
    for name in ("plain", "stored"):
        assert name in team.command("describe", name, *CLUSTER).out
        assert team.command("suspend", name, *CLUSTER).code == 0
    assert team.world.there("TrainJob", "stored")["spec"]["suspend"] is True
    assert team.world.there("JobSet", "plain")["spec"]["suspend"] is True

    assert team.command("delete", "stored", *CLUSTER).code == 0
    assert team.world.names("TrainJob") == []
    assert team.command("delete", "plain", *CLUSTER).code == 0
    assert team.world.all_names() == {}
    controlled.close()
