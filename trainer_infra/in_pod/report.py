"""Progress and metrics, sent from inside a training function.

Sends the body of reference behaviour 6 to the address in the environment. It leaves it in the file
that the environment names and in the log, where a run in a cluster is read, with and without such
an address. With neither it prints. Stands alone: CustomTrainer ships this file to images that lack
the package, so it needs nothing but the standard library, keeps to the syntax of Python 3.9 and
imports what is slow when needed.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    # `typing` itself would be a third of this module's time to import.
    from collections.abc import Callable
    from typing import Any

PAUSE = 1.0
LONGEST_PAUSE = 60.0
TIMEOUT = 2.0
COMPLETE = 100
MOST_METRICS = 256
LONGEST_TEXT = 64
SERVER = "KUBEFLOW_TRAINER_SERVER_URL"
FILE = "TRAINER_INFRA_REPORT"
PREFIX = "trainer-infra-report: "
LONGEST_FILE = 4096


def report(
    progress: float | None = None, remaining: float | None = None, **metrics: float | str
) -> bool:
    """Say how far the training is. Never raises: a training run must not fail because of it.

    What is left out keeps its last value, except `remaining`. At most one report a second is sent,
    fewer while the server does not answer; the newest one withheld is sent when the interpreter
    exits, and one with a progress of 100 at once.

    Args:
        progress: percentage, 0 to 100; sent as a whole number, rounded down.
        remaining: estimated seconds until the end.
        metrics: numbers, text, and scalars and arrays of numpy and others, at most 256 names; names
            and values are cut at 64 characters.

    Returns:
        Whether it was taken: by the server, or by the file that stands for it; False for one
        withheld, printed or refused.
    """
    try:
        return _reporter.take(progress, remaining, metrics)
    except Exception as error:  # noqa: BLE001  see the first sentence above
        _reporter.complain(error)
        return False


def remember(metrics: Callable[[], dict[str, str]]) -> None:
    """Add metrics to every report of this process, after its own: the last ones are left out where there is no room."""
    _reporter.remembered = metrics


def tell() -> None:
    """Report what was remembered, with what was reported last. Never raises; see `report`."""
    try:
        if os.environ.get(SERVER) or os.environ.get(FILE):
            _reporter.repeat()
    except Exception as error:  # noqa: BLE001  see `report`
        _reporter.complain(error)


class _Reporter:
    """What one process has reported, and when it may send again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.progress: int | None = None
        self.seconds: int | None = None
        self.metrics: dict[str, str] = {}
        self.remembered: Callable[[], dict[str, str]] = dict
        self.withheld: dict[str, Any] | None = None
        self.pause = PAUSE
        self.due = 0.0
        self.complained = False

    def take(
        self, progress: float | None, remaining: float | None, metrics: dict[str, Any]
    ) -> bool:
        """Print or send one report, or withhold it."""
        whole = None if progress is None else max(0, min(COMPLETE, int(progress)))
        seconds = None if remaining is None else max(0, int(remaining))
        texts = {name[:LONGEST_TEXT]: _text(value) for name, value in metrics.items()}
        texts = {name: text for name, text in texts.items() if name and text}
        if not os.environ.get(SERVER) and not os.environ.get(FILE):
            _print(whole, seconds, texts)
            return False
        with self.lock:
            self.withheld = self.status(whole, seconds, texts)
            if whole != COMPLETE and time.monotonic() < self.due:
                return False
            return self.send()

    def repeat(self) -> None:
        """Send the last report again, or withhold it, where there is something to remember."""
        with self.lock:
            if self.remembered():
                self.withheld = self.status(None, self.seconds, {})
                if time.monotonic() >= self.due:
                    self.send()

    def status(
        self, progress: int | None, seconds: int | None, texts: dict[str, str]
    ) -> dict[str, Any]:
        """The whole trainerStatus: the server replaces the last one with it."""
        if progress is not None:
            self.progress = progress
        self.seconds = seconds
        self.metrics.update(texts)
        shown = list({**self.metrics, **self.remembered()}.items())[:MOST_METRICS]
        status = {
            "progressPercentage": self.progress,
            "estimatedRemainingSeconds": seconds,
            "metrics": [{"name": name, "value": value} for name, value in shown] or None,
            "lastUpdatedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        return {key: value for key, value in status.items() if value is not None}

    def send(self) -> bool:
        """Send what is withheld; the caller holds the lock."""
        status, self.withheld = self.withheld, None
        accepted = False
        try:
            accepted = _deliver(status or {})
        finally:
            self.pause = PAUSE if accepted else min(LONGEST_PAUSE, self.pause * 2)
            self.due = time.monotonic() + self.pause
            if not accepted:
                self.withheld = status
        return accepted

    def complain(self, error: Exception) -> None:
        """Say once, on stderr, why reports do not arrive."""
        if not self.complained and sys.stderr is not None:
            self.complained = True
            text = f"trainer_infra.report: not sent, training goes on: {error}"
            print(text, file=sys.stderr, flush=True)  # noqa: T201  the user's own log

    def flush(self) -> None:
        """Send the newest withheld report, at the interpreter's exit."""
        try:
            with self.lock:
                if self.withheld is not None:
                    self.send()
        except Exception as error:  # noqa: BLE001  the exit code is the training's
            self.complain(error)


def _text(value: Any) -> str:
    """A metric as text: the shortest form that reads back as the same number."""
    if hasattr(value, "item"):
        # str() of a 32-bit scalar is shorter than its value as a 64-bit float, but a tensor's
        # has its type's name around it.
        value = str(value) if _is_number(str(value)) else _plain(value)
    if isinstance(value, float):
        value = float.__repr__(value)
    return "" if value is None else str(value)[:LONGEST_TEXT]


def _plain(value: Any) -> Any:
    """A number of an array of one, a list of one of several."""
    value = value.tolist() if hasattr(value, "tolist") else value.item()
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _print(progress: int | None, seconds: int | None, texts: dict[str, str]) -> None:
    parts = [] if progress is None else [f"progress {progress}%"]
    parts += [] if seconds is None else [f"remaining {seconds}s"]
    parts += [f"{name}={value}" for name, value in texts.items()]
    print("  ".join(parts), flush=True)  # noqa: T201  what the function is for without a server


def _deliver(status: dict[str, Any]) -> bool:
    """Into the log and the file, where there is one, and to the server: the log is what keeps history."""
    has_server = bool(os.environ.get(SERVER))
    if os.environ.get(FILE):
        try:
            _leave(status)
        except OSError:
            if not has_server:
                raise
    return _post({"trainerStatus": status}) if has_server else True


def _leave(status: dict[str, Any]) -> None:
    """Print a status as one line, and leave it in the file, which takes 4096 bytes.

    A kubelet reads that file when the container ends; the line is read while it runs.
    """
    import json  # noqa: PLC0415  slow to import, see the module

    metrics = list(status.get("metrics") or ())
    text = json.dumps(status)
    while len(text) > LONGEST_FILE:
        metrics.pop()
        text = json.dumps({**status, "metrics": metrics})
    # One write, so that lines of several processes do not mix.
    print(f"{PREFIX}{text}\n", end="", flush=True)  # noqa: T201  what the reader of the log finds
    with open(os.environ[FILE], "w", encoding="ascii") as file:  # noqa: PTH123  see above
        file.write(text)


def _post(body: dict[str, Any]) -> bool:
    """Send a body; the token is read again when it was refused, for it rotates."""
    import json  # noqa: PLC0415  slow to import, see the module

    payload = json.dumps(body).encode()
    code, reason = _answer(payload)
    if code in {401, 403}:
        code, reason = _answer(payload)
    if code != 200:  # noqa: PLR2004  the protocol's one good answer
        raise OSError(f"the server answered {code} {reason}")
    return True


def _answer(payload: bytes) -> tuple[int, str]:
    """Status and reason of one POST. Never by a proxy: the server is in the cluster or local."""
    import http.client  # noqa: PLC0415  slow to import, see the module
    import ssl  # noqa: PLC0415  the same
    from urllib.parse import urlsplit  # noqa: PLC0415  the same

    url = urlsplit(os.environ[SERVER])
    context = ssl.create_default_context(
        cafile=os.environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT") or None
    )
    headers = {"Content-Type": "application/json"}
    token = os.environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN")
    if token:
        with open(token, encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow to import
            headers["Authorization"] = f"Bearer {file.read().strip()}"
    connection = http.client.HTTPSConnection(
        url.hostname or "", url.port, timeout=TIMEOUT, context=context
    )
    try:
        connection.request("POST", url.path, payload, headers)
        response = connection.getresponse()
        return response.status, response.reason
    finally:
        connection.close()


def _start_afresh() -> None:
    """A forked child has reported nothing yet, and a lock may have been held at the fork."""
    global _reporter  # noqa: PLW0603  one per process
    _reporter = _Reporter()


def _at_exit() -> None:
    """Send what the reporter of this process withheld: after a fork it is another one."""
    _reporter.flush()


_reporter = _Reporter()
os.register_at_fork(after_in_child=_start_afresh)
atexit.register(_at_exit)
