"""A secret's value that stands in plain text in what everybody may read. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from trainer_infra.api.finding import path_text
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSON, JSONObject, json_leaves

LONG_SECRET: Final = 8
"""From this many characters on, a secret is looked for in what is shown."""


def leaked_secrets(job: TrainJobProperties, shown: JSONObject) -> Iterator[Problem]:
    """Places where a secret's value stands in plain text.

    Only those of `LONG_SECRET` characters and more are looked for: a shorter one may well be a word
    that stands there for another reason.
    """
    secrets = [
        (key, text)
        for key, value in job.secret_data.items()
        for text in _texts_in(value)
        if len(text) >= LONG_SECRET
    ]
    if not secrets:
        return
    written = {key: job.json.get(key) for key in ("spec", "labels", "annotations", "code")}
    for place in (written, {"rendered": shown}):
        leaks = [
            Problem(
                path_text(path),
                f"holds the value of secret {key!r} in plain text",
                fix="pass it in env, files or func_args as Secret(...), and nowhere else",
            )
            for path, text in json_leaves(place)
            if isinstance(text, str)
            for key, secret in secrets
            if secret in text
        ]
        yield from leaks
        if leaks:
            return


def _texts_in(secret: JSON) -> Iterable[str]:
    """The texts in a secret: several where it is JSON, as func_args are."""
    try:
        decoded = json.loads(secret) if isinstance(secret, str) else secret
    except ValueError:
        decoded = secret
    texts = [text for _, text in json_leaves(decoded) if isinstance(text, str)]
    return texts or [str(secret)]
