"""A model arrives with weights whatever format they have, and what arrives without any is said."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from from_source.cluster.distribution import Registry
from tests.in_pod.initializers.hub import Hub, Repository
from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_oci import TAR, model, name_of, push, tar
from tests.in_pod.initializers.test_s3 import write
from trainer_infra.in_pod.initializers.patterns import MODEL_DEFAULT, parse_patterns, with_weights

__all__ = ["model"]

DEFAULT = f"IGNORE_PATTERNS={','.join(MODEL_DEFAULT)}"
SHARDS = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
ARRIVE: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "only bin": (["config.json", "pytorch_model.bin"], ["pytorch_model.bin"]),
    "only pt": (["large.pt", "README.md"], ["large.pt"]),
    "only pth": (["params.json", "consolidated.00.pth"], ["consolidated.00.pth"]),
    "only h5": (["config.json", "tf_model.h5"], ["tf_model.h5"]),
    "only msgpack": (["config.json", "flax_model.msgpack"], ["flax_model.msgpack"]),
    "shards": (["config.json", "pytorch_model.bin.index.json", *SHARDS], SHARDS),
    "three formats, of which one is enough": (
        ["config.json", "flax_model.msgpack", "pytorch_model.bin", "tf_model.h5"],
        ["pytorch_model.bin"],
    ),
    "safetensors": (["config.json", "model.safetensors", "pytorch_model.bin"], []),
    "gguf": (["model.Q4_K_M.gguf", "model.bin"], []),
    "a second copy in another folder": (
        ["config.json", "model.safetensors", "original/consolidated.00.pth", "openvino/m.bin"],
        [],
    ),
    "a second copy of what has no safetensors": (
        ["config.json", "pytorch_model.bin", "original/consolidated.00.pth"],
        ["pytorch_model.bin"],
    ),
    "a part of a pipeline": (
        [
            "model_index.json",
            *("unet/config.json", "unet/model.safetensors"),
            *("text/config.json", "text/pytorch_model.bin"),
        ],
        ["text/pytorch_model.bin"],
    ),
    "an adapter": (["adapter_config.json", "adapter_model.bin"], ["adapter_model.bin"]),
    "what a trainer keeps beside weights": (
        ["config.json", "training_args.bin", "optimizer.pt", "rng_state_0.pth", "scheduler.pt"],
        [],
    ),
}


@pytest.mark.parametrize("name", ARRIVE)
def test_of_each_model_the_weights_arrive_once(name: str) -> None:
    files, expected = ARRIVE[name]
    patterns, said = with_weights(
        parse_patterns(None, None, of_model=True), [(each,) for each in files]
    )
    left_out = tuple(each[1:] for each in MODEL_DEFAULT)
    arrived = [each for each in files if patterns.admits(each) and each.endswith(left_out)]
    assert arrived == list(expected)
    assert (DEFAULT in said) == bool(expected)


@pytest.mark.parametrize(
    ("ignored", "allowed", "files", "said"),
    [
        (
            "*.bin",
            None,
            ["config.json", "w.bin"],
            "IGNORE_PATTERNS=*.bin leaves out w.bin, and no ",
        ),
        (None, "*.json", ["config.json", "w.bin", "x.bin"], "leaves out w.bin and 1 more, and no "),
        (None, "*.json,*.bin", ["config.json", "w.bin"], "so w.bin will come, which the default "),
        (DEFAULT.partition("=")[2], None, ["config.json", "w.bin"], "so w.bin will come"),
        ("", None, ["config.json", "w.bin"], ""),
        (None, None, ["config.json", "model.onnx"], ""),
        (None, None, ["config.json", "tokenizer.json"], "2 files and no weights among them"),
        (None, None, ["tokenizer_config.json"], "1 file and no weights among them"),
        ("*.safetensors", None, ["a/w.safetensors", "a/config.json"], "leaves out a/w.safetensors"),
        (None, None, ["model.json"], ""),
    ],
)
def test_what_a_model_lacks_is_said(
    ignored: str | None, allowed: str | None, files: list[str], said: str
) -> None:
    patterns = parse_patterns(ignored, allowed, of_model=True)
    _, found = with_weights(patterns, [(each,) for each in files])
    assert said in found
    assert bool(said) == bool(found)


def test_a_dataset_is_what_its_patterns_say() -> None:
    patterns = parse_patterns("*.bin", None, of_model=False)
    assert with_weights(patterns, [("a.bin",), ("config.json",)]) == (patterns, "")


def test_a_folder_with_an_older_model_arrives_with_its_weights_and_the_log_says_why(
    tmp_path: Path,
) -> None:
    files = write(tmp_path / "old", {"config.json": b"{}", "pytorch_model.bin": b"w"})
    older = Initializer(tmp_path / "volume", {"STORAGE_URI": (tmp_path / "old").as_uri()}, "model")
    outcome = older.run()
    assert older.files() == files
    assert f"so pytorch_model.bin will come, which the default {DEFAULT}" in outcome.output
    assert "nothing to do" in older.run().output
    outcome = older.run(IGNORE_PATTERNS="*.bin")
    assert list(older.files()) == ["config.json"]
    assert "IGNORE_PATTERNS=*.bin leaves out pytorch_model.bin" in outcome.output


def test_a_repository_of_the_hub_with_older_weights_arrives_with_them(
    hub: Hub, tmp_path: Path
) -> None:
    hub.repositories["models/org/old"] = Repository({"config.json": b"{}", "m.bin": b"w"})
    older = Initializer(tmp_path, {"STORAGE_URI": "hf://org/old", "HF_ENDPOINT": hub.url}, "model")
    older.run()
    assert list(older.files()) == ["config.json", "m.bin"]


def test_a_bucket_with_older_weights_arrives_with_them(dataset: Initializer, bucket: Path) -> None:
    files = write(bucket, {"a/config.json": b"{}", "a/m.bin": b"w"})
    older = Initializer(dataset.volume, dataset.environment, "model")
    older.run()
    assert older.files() == files


def test_an_image_with_older_weights_is_unpacked_with_them(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    layers: list[tuple[bytes, str, dict[str, str]]] = [
        (tar(("config.json", b"old"), ("m.bin", b"gone"), ("n.bin", b"n")), TAR, {}),
        (tar(("config.json", b"{}"), (".wh.m.bin", b"")), TAR, {}),
    ]
    push(registry, name_of(tmp_path), layers)
    outcome = model.run()
    assert model.files() == {"config.json": b"{}", "n.bin": b"n"}
    assert "will come, which the default" in outcome.output
