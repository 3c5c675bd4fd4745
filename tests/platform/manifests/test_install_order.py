"""Objects are installed so that what needs another comes after it."""

from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.platform.manifests.install_order import STAGES, install_stages

KINDS = ["ClusterQueue", "Widget", *(kind for stage in STAGES for kind in stage)]
METADATA = {"name": "it"}


@given(st.lists(st.sampled_from(KINDS)))
def test_every_object_has_one_place_in_the_order_of_the_stages(kinds: list[str]) -> None:
    objects = [
        {"kind": kind, "metadata": METADATA, "number": number} for number, kind in enumerate(kinds)
    ]
    stages = install_stages(objects)
    numbers = [
        next((index for index, stage in enumerate(STAGES) if each["kind"] in stage), len(STAGES))
        for stage in stages
        for each in stage
    ]

    assert numbers == sorted(numbers)
    assert sorted(each["number"] for stage in stages for each in stage) == list(range(len(kinds)))
    assert all(stages)
    for stage in stages:
        order = [each["number"] for each in stage]
        assert order == sorted(order)


def test_a_kind_stands_in_one_stage() -> None:
    kinds = [kind for stage in STAGES for kind in stage]
    assert len(kinds) == len(set(kinds))


def test_a_job_of_helms_stands_before_or_after_what_it_prepares_or_completes() -> None:
    def job(name: str, hooks: str) -> dict[str, object]:
        annotations = {"helm.sh/hook": hooks} if hooks else {}
        return {"kind": "Job", "metadata": {"name": name, "annotations": annotations}}

    others = [{"kind": kind, "metadata": METADATA} for kind in ("Widget", "Deployment", "Role")]
    jobs = [job("after", "post-install,post-upgrade"), job("with", ""), job("first", "pre-install")]
    stages = install_stages([*jobs, *others])

    names = [
        [each["metadata"]["name"] for each in stage if each["kind"] == "Job"] for stage in stages
    ]
    assert names == [[], ["first"], ["with"], [], ["after"]]
    assert [each["kind"] for stage in stages for each in stage] == [
        "Role", "Job", "Job", "Deployment", "Widget", "Job",
    ]  # fmt: skip
