"""Gives command lines to the parsers of their own libraries: `python parse_options.py < CASES`.

A case is `{"program": ..., "args": [...]}`, as trainers pack them. Prints, as JSON, how many were taken;
the first that is not ends it with the parser's own words. Nothing is trained.
"""

# mypy: disable-error-code="import-not-found"

import importlib
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any


def main() -> None:
    """Parse all of them."""
    cases: list[dict[str, Any]] = json.load(sys.stdin)
    for case in cases:
        if case["program"].startswith("trl."):
            parser = importlib.import_module(case["program"]).make_parser()
            parser.parse_args_and_config(case["args"], fail_with_unknown_args=True)
        else:
            validate_recipe(case["args"])
    print(json.dumps(len(cases)))  # noqa: T201  read by the test


def validate_recipe(args: list[str]) -> None:
    """What `tune run RECIPE --config CONFIG ITEMS` would merge, and the parameters of every component in it."""
    import torchtune  # noqa: PLC0415  not every environment has it
    from omegaconf import OmegaConf  # noqa: PLC0415  the same
    from torchtune.config import _utils, validate  # noqa: PLC0415  the same

    position = args.index("--config")
    folder = Path(torchtune.__file__).parent.parent / "recipes" / "configs"
    stated = Namespace(**OmegaConf.load(folder / f"{args[position + 1]}.yaml"))
    # What the recipes' own parser calls.
    validate(_utils._merge_yaml_and_cli_args(stated, args[position + 2 :]))  # noqa: SLF001  see above


if __name__ == "__main__":
    main()
