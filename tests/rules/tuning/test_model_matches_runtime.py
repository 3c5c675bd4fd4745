"""Which models names and URIs stand for."""

import pytest

from trainer_infra import catalog
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.tuning import torchtune


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("hf://meta-llama/Llama-3.2-1B-Instruct", "Llama 3 1B"),
        ("llama3_3/70B_full_multinode", "Llama 3 70B"),
        ("hf://meta-llama/Meta-Llama-3-8B", "Llama 3 8B"),
        ("hf://meta-llama/Llama-2-70b-hf", "Llama 2 70B"),
        ("s3://bucket/models/qwen2.5-1.5b/", "Qwen 2 1.5B"),
        ("qwen2_5/1.5B_full", "Qwen 2 1.5B"),
        ("hf://me/my-model", "None"),
        ("hf://me/llama-3.2-1b-to-llama-3.2-3b", "None"),
        ("hf://me/llama-3.2-1bit", "None"),
        ("", "None"),
    ],
)
def test_the_model_that_a_text_names(text: str, shape: str) -> None:
    assert str(torchtune.model_shape(text)) == shape


@pytest.mark.parametrize("shipped", catalog.RUNTIMES, ids=lambda each: each.name)
def test_the_catalog_fetches_what_it_trains(shipped: ShippedRuntime) -> None:
    (subject,) = tree.subjects_of([shipped.runtime().to_wire()])
    rules = [ConfiguredRule.default(torchtune.MODEL_MATCHES_RUNTIME)]
    assert list(judge(subject, world.world_of([subject]), rules)) == []
