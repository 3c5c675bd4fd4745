"""Runs in a Python that has the published SDK: does what tests send, a line of JSON each.

`user.py` starts it. A request is `{"config", "namespace", "code", "given"}`: the code is the body of a
function, for which `client` is a new TrainerClient, the SDK's names are there, and `functions` is
training_functions.py. The answer is `{"value", "printed", "warnings", "error"}`.
"""

# mypy: disable-error-code="import-not-found"

import contextlib
import dataclasses
import enum
import io
import json
import logging
import os
import sys
import textwrap
from collections.abc import Iterator
from datetime import datetime
from logging.handlers import BufferingHandler
from typing import Any

import training_functions
from kubeflow import trainer
from kubeflow.trainer import options

JSON = dict[str, Any]


def main() -> None:
    """Answer until the end of the input; what the SDK prints goes into its answer."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line)), default=plain), file=answers, flush=True)


def answer(request: JSON) -> JSON:
    """The answer of one request."""
    heard, printed = BufferingHandler(10_000), io.StringIO()
    heard.setLevel(logging.WARNING)
    logging.getLogger("kubeflow").addHandler(heard)
    value, error = None, None
    try:
        with contextlib.redirect_stdout(printed):
            value = call(request)
    except Exception as raised:  # noqa: BLE001  what the SDK raises is for the test to judge
        error = described(raised)
    finally:
        logging.getLogger("kubeflow").removeHandler(heard)
    warnings = [each.getMessage() for each in heard.buffer]
    return {"value": value, "printed": printed.getvalue(), "warnings": warnings, "error": error}


def call(request: JSON) -> Any:
    """What the code returns; an iterator is read to its end."""
    place = trainer.KubernetesBackendConfig(
        config_file=request["config"], namespace=request["namespace"]
    )
    client = trainer.TrainerClient(place)
    names = {
        **{name: getattr(module, name) for module in (options, trainer) for name in module.__all__},
        "client": client,
        "functions": training_functions,
        **request["given"],
    }
    source = f"def body():\n{textwrap.indent(request['code'], '    ')}"
    exec(compile(source, "<test>", "exec"), names)
    # It has threads, which it ends at the exit of a program that makes one client.
    with client.backend.core_api.api_client:
        value = names["body"]()
        return list(value) if isinstance(value, Iterator) else value


def described(error: BaseException) -> JSON:
    """An error and its cause."""
    cause = error.__cause__
    return {
        "type": type(error).__name__,
        "message": str(error),
        "status": getattr(cause, "status", None),
        "cause": str(getattr(cause, "body", None) or cause),
    }


def plain(value: Any) -> Any:
    """A value of the SDK's types as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"the SDK returned a {type(value).__name__}, which has no form in JSON")


main()
