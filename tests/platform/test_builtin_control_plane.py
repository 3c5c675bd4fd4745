"""Our own controller needs no download, may do little, and stands where Kubeflow's stood."""

from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import declared_objects
from trainer_infra import platform
from trainer_infra.api import crd
from trainer_infra.controller import configuration
from trainer_infra.json_values import JSONObject
from trainer_infra.platform import builtin_control_plane
from trainer_infra.platform.manifests.manifest_source import release_objects
from trainer_infra.platform.manifests.object_resources import object_key
from trainer_infra.platform.releases import release_of

NAME = "kubeflow-system/kubeflow-trainer-controller-manager"
READ = {"get", "list", "watch", "*"}


def objects(**args: Any) -> dict[str, JSONObject]:
    return declared_objects(lambda: platform.TrainerControlPlane("it", **args))


def rules(role: JSONObject) -> dict[str, set[str]]:
    """Verbs by resource, of one role; a rule for named objects only is another row."""
    found: dict[str, set[str]] = {}
    for rule in role["rules"]:
        for resource in rule["resources"]:
            place = f"{resource} {','.join(rule.get('resourceNames', ()))}".strip()
            found.setdefault(place, set()).update(rule["verbs"])
    return found


@pytest.mark.usefixtures("kubectl_on_path")
def test_it_is_what_a_program_gets_and_its_objects_have_the_names_of_the_release() -> None:
    ours = set(objects())
    theirs = {object_key(each) for each in release_objects(release_of("Trainer", None))}

    assert theirs <= ours
    added = {each.partition("/")[0] for each in ours - theirs}
    assert added == {"Role", "RoleBinding", "PodDisruptionBudget"}


def test_it_reads_no_secrets_and_lists_no_configmaps() -> None:
    made = objects()
    everywhere = rules(made["ClusterRole/kubeflow-trainer-controller-manager"])
    here = rules(made[f"Role/{NAME}"])

    assert everywhere["secrets"] == {"create"}
    assert everywhere["configmaps"] == {"create", "get", "patch"}
    assert "*" not in {verb for verbs in everywhere.values() for verb in verbs}
    assert [each for each in everywhere if each.startswith("secrets")] == ["secrets"]
    assert here["secrets kubeflow-trainer-webhook-cert"] == {"get", "patch"}


def test_every_watched_kind_may_be_listed_too() -> None:
    everywhere = rules(objects()["ClusterRole/kubeflow-trainer-controller-manager"])
    watched = {each for each, verbs in everywhere.items() if "watch" in verbs}

    of_plugins = {"podgroups", "limitranges", "runtimeclasses"}
    always = {"trainjobs", "clustertrainingruntimes", "trainingruntimes", "jobsets", "pods"}
    assert watched == always | of_plugins
    assert all(everywhere[each] >= {"get", "list"} for each in always)
    assert all("list" in everywhere[each] for each in of_plugins)


def test_its_pods_run_as_no_root_on_a_root_that_cannot_be_written() -> None:
    pod = objects()[f"Deployment/{NAME}"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["image"] == builtin_control_plane.image()
    assert not [each for each in pod["volumes"] if "secret" in each]


def test_its_configuration_is_one_that_it_takes(tmp_path: Any) -> None:
    content = objects()["ConfigMap/kubeflow-system/kubeflow-trainer-config"]["data"]
    file = tmp_path / "config.yaml"
    file.write_text(content["controller_manager_config.yaml"])
    found = configuration.read_configuration(file)

    assert found.leader_election is not None
    assert found.leader_election.leader_elect
    expected = configuration.DEFAULT.model_copy(update={"leader_election": found.leader_election})
    assert found == expected


def test_trainjobs_have_columns_of_progress_and_of_what_they_wait_for() -> None:
    made = objects()["CustomResourceDefinition/trainjobs.trainer.kubeflow.org"]
    (published,) = crd.crd_definitions(["TrainJob"])
    columns = made["spec"]["versions"][0].pop("additionalPrinterColumns")

    assert [each["name"] for each in columns] == ["State", "Progress", "Waiting", "Age"]
    del published["spec"]["versions"][0]["additionalPrinterColumns"]
    assert made == published


def test_alerts_are_asked_for_by_the_program() -> None:
    plain, asked = objects(), objects(alerts=True)
    (added,) = asked.keys() - plain.keys()
    groups = asked[added]["spec"]["groups"]
    rows = [rule for group in groups for rule in group["rules"]]

    assert added == f"PrometheusRule/{NAME}"
    assert all('namespace="kubeflow-system"' in each["expr"] for each in rows)
    assert all({"summary", "description"} <= each["annotations"].keys() for each in rows)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"version": "2.2.1"}, "version: is 2.3.0 of the builtin controller, got '2.2.1'"),
        ({"implementation": "go"}, "implementation: must be"),
        ({"implementation": "upstream", "alerts": True}, "alerts: are those of the builtin"),
    ],
)
def test_what_it_cannot_be_is_said_at_preview(args: dict[str, Any], said: str) -> None:
    with pytest.raises(pulumi.RunError, match=said):
        objects(**args)


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, 1),
        ({"image": None}, 1),
        ({"image": "example.com/controller:1"}, 0),
        ({"image_pull_policy": "IfNotPresent"}, 0),
        ({"implementation": "upstream"}, 0),
    ],
)
def test_a_program_that_says_nothing_of_the_image_is_warned(
    args: dict[str, Any], said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that must pull it would wait for it until the deployment gives up."""
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: warnings.append(text))
    objects(**args)
    assert len(warnings) == said
    for each in warnings:
        assert each.startswith("TrainerControlPlane it: image: no registry has trainer-infra/")
