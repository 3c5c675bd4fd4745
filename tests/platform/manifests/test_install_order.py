"""Objects are installed so that what needs another comes after it."""

from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.platform.manifests.install_order import STAGES, install_stages

KINDS = ["ClusterQueue", "Widget", *(kind for stage in STAGES for kind in stage)]


@given(st.lists(st.sampled_from(KINDS)))
def test_every_object_has_one_place_in_the_order_of_the_stages(kinds: list[str]) -> None:
    objects = [{"kind": kind, "number": number} for number, kind in enumerate(kinds)]
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
