"""Strategic merge: reference behaviour 4.3."""

import copy

from trainer_infra.render.merge import merge_patch


def test_lists_with_a_key_merge_and_keep_base_order_where_both_are_known() -> None:
    base = {"env": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}, {"name": "c"}]}
    patch = {"env": [{"name": "c", "value": "2"}, {"name": "a", "value": "2"}]}
    assert merge_patch(base, patch) == {
        "env": [
            {"name": "b", "value": "1"},
            {"name": "c", "value": "2"},
            {"name": "a", "value": "2"},
        ]
    }


def test_new_items_come_before_the_remaining_base_items() -> None:
    base = {"volumes": [{"name": "a", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "z", "emptyDir": {}}]}
    assert merge_patch(base, patch) == {
        "volumes": [{"name": "z", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]
    }


def test_lists_without_a_key_are_replaced() -> None:
    base = {"tolerations": [{"key": "a"}], "command": ["x", "y"]}
    assert merge_patch(base, {"tolerations": [{"key": "b"}]}) == {
        "tolerations": [{"key": "b"}],
        "command": ["x", "y"],
    }


def test_mappings_merge_per_key_and_nothing_can_be_deleted() -> None:
    base = {"nodeSelector": {"a": "1", "b": "1"}, "securityContext": {"runAsUser": 1}}
    patch = {"nodeSelector": {"b": "2"}, "securityContext": None}
    assert merge_patch(base, patch) == {
        "nodeSelector": {"a": "1", "b": "2"},
        "securityContext": {"runAsUser": 1},
    }


def test_mounts_are_told_apart_by_their_path() -> None:
    base = {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]}
    patch = {"volumeMounts": [{"name": "w", "mountPath": "/b"}]}
    assert merge_patch(base, patch) == {
        "volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b"}]
    }


def test_another_volume_source_replaces_the_old_one_and_joins_it_in_the_reference() -> None:
    base = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}
    assert merge_patch(base, patch) == patch
    assert merge_patch(base, patch, joins_sources=True) == {
        "volumes": [{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]
    }


def test_neither_side_is_changed() -> None:
    base = {"env": [{"name": "a", "value": "1"}], "labels": {"x": "1"}}
    patch = {"env": [{"name": "a", "value": "2"}], "labels": {"y": "1"}}
    before = copy.deepcopy((base, patch))
    merge_patch(base, patch)
    assert (base, patch) == before
