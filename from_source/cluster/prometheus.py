"""A real Prometheus, which scrapes a controller and judges its alerts; built of its published module."""

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import build
from from_source.cluster.build import Program
from from_source.cluster.process import Process
from trainer_infra.local.network import reserved_port

PROMETHEUS: Final = Program(
    "prometheus", "prometheus", "github.com/prometheus/prometheus/cmd/prometheus"
)
"""What is built."""


def program() -> str:
    """Its file, built where it is missing.

    Raises:
        NotAvailable: It cannot be built here.
    """
    return str(build.built(PROMETHEUS))


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One that runs."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression now: each with `metric` and `value`."""
        found = self._get("/api/v1/query", {"query": expression})
        result: list[dict[str, Any]] = found["data"]["result"]
        return result

    def rules(self) -> list[dict[str, Any]]:
        """The rules that are loaded, with their health."""
        groups = self._get("/api/v1/rules", {})["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready") as answer:  # noqa: S310  our own
                return bool(answer.status == 200)  # noqa: PLR2004
        except OSError:
            return False

    def _get(self, path: str, query: Mapping[str, str]) -> Any:
        url = f"{self.url}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url) as answer:  # noqa: S310  our own
            return json.load(answer)


@contextmanager
def running(
    folder: Path, target: str, labels: Mapping[str, str], groups: Sequence[Any]
) -> Iterator[Prometheus]:
    """Scrape one target every second, as a ServiceMonitor with these labels would.

    Args:
        folder: for its files.
        target: `<host>:<port>`.
        labels: what every series gets.
        groups: of rules.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"groups": groups}))
    scraped = {"targets": [target], "labels": dict(labels)}
    config = folder / "prometheus.json"
    config.write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(rules)],
                "scrape_configs": [{"job_name": "trainer", "static_configs": [scraped]}],
            }
        )
    )
    with reserved_port() as port:
        address = f"127.0.0.1:{port}"
    command = [
        program(),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'series'}",
        f"--web.listen-address={address}",
    ]
    made, process = Prometheus(f"http://{address}"), Process(command, folder)
    try:
        process.wait_until_ready(made.is_ready)
        yield made
    finally:
        process.kill()
