"""The stacks of clouds are as short as promised; tests/clouds runs them, where the clouds' SDKs are."""

import ast
from pathlib import Path

import pytest

STACKS = Path(__file__).resolve().parents[3] / "stacks"
POOL = "GpuNodePool"


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_the_platform_is_25_lines_and_each_pool_ten_more(cloud: str) -> None:
    statements = ast.parse((STACKS / cloud / "__main__.py").read_text()).body[1:]
    pools = [each for each in statements if isinstance(each, ast.Assign) and POOL in ast.dump(each)]
    rest = [each for each in statements if each not in pools]
    assert len(pools) == 2
    assert max(map(lines_of, pools)) <= 10
    assert sum(map(lines_of, rest)) <= 25
