"""A stack of which everything that its commands do is kept, in a form in which two engines agree."""

import difflib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from platform import node
from textwrap import dedent
from typing import Any, Final

from tests import warm_start
from tests.deploy.project import HEAD, Stack
from tests.engine import command

GOLDEN: Final = Path(__file__).with_name("golden")
PROVIDER: Final = Path(__file__).with_name("watched_provider.py")
ROOT: Final = Path(__file__).resolve().parents[3]
THINGS: Final = """
import pulumi
from watched import Group, Thing
"""
_PATTERNS: Final = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"file:[-.A-Za-z0-9]+-[0-9a-f]{16}", "<backend>"),
    (r"is complete after [0-9hms ]+:", "is complete after <time>:"),
    (r"-[0-9a-f]{8}\b", "-<digest>"),
    (r'"[0-9a-f]{8}"', '"<digest>"'),
    (r"0x[0-9a-f]+", "0x<address>"),
    (r"<\{%.*?%\}>", ""),
)
"""What is another each time, and the colours of the CLI."""
_UNTOLD: Final = re.compile(
    r"(Previewing|Updating|Refreshing|Destroying|Duration|If you want|The resources)\b.*|@.*|\s*"
)
"""Lines that are about no resource."""
_PASSING: Final = re.compile(
    r"(.* )?running|created|\d+ of \d+ (submitted|done|deleted|complete.* (running|created)).*|\d+%.*"
)
"""What a gate says for a moment, if it has to wait at all."""
_LARGE: Final = ("rendered", "code", "spec", "runtime", "jobs", "texts", "digests")
"""Properties of our resources that have more in them than engines make of them."""
_NEVER: Final = (
    "created",
    "modified",
    "sourcePosition",
    "stackTrace",
    "aliases",
    "replaceOnChanges",
)
"""What the CLI keeps of a resource, and no test asks for."""
_TIMES: Final = ("startedAt", "finishedAt", "durationSeconds", "lastSeen", "host")
"""What of a run depends on when it is looked at."""


@dataclass
class Watched:
    """A stack of this machine, on the one engine or the other."""

    stack: Stack
    cli: bool
    """Whether it is on the real CLI."""
    golden: Path
    """What the real CLI did."""
    of_runs: bool = False
    """Whether its program has runs, which go on while commands look at them."""
    kept: list[dict[str, Any]] = field(default_factory=list)
    _last: list[dict[str, Any]] = field(default_factory=list)

    def things(self, text: str) -> None:
        """Write a program of watched things: `Thing`, `Group` and `pulumi` are there."""
        shutil.copy(PROVIDER, self.stack.folder / "watched.py")
        (self.stack.folder / "__main__.py").write_text(THINGS + dedent(text))

    def jobs(self, text: str) -> None:
        """Write a program of TrainJobs, as tests of stacks do."""
        self.of_runs = True
        (self.stack.folder / "__main__.py").write_text(HEAD + dedent(text))

    def up(self, *words: str, ok: bool = True) -> str:
        """Deploy the program."""
        return self.run("up", "--yes", "--skip-preview", "--diff", *words, ok=ok)

    def preview(self, *words: str, ok: bool = True) -> str:
        """Show what a deployment would do."""
        return self.run("preview", "--diff", *words, ok=ok)

    def refresh(self, *words: str, ok: bool = True) -> str:
        """Look at everything."""
        return self.run("refresh", "--yes", "--skip-preview", "--diff", *words, ok=ok)

    def destroy(self, *words: str, ok: bool = True) -> str:
        """Delete everything."""
        return self.run("destroy", "--yes", "--skip-preview", "--diff", *words, ok=ok)

    def run(self, *words: str, ok: bool | None = True) -> str:
        """Run a command to its end and keep what it did; what it printed.

        Args:
            words: of the command.
            ok: whether it ends well; None where it is killed.
        """
        code, out, err = self._ended(words)
        assert ok is None or (code == 0) == ok, out + err
        self.kept.append(
            {
                "command": " ".join(words),
                "ends": "well" if code == 0 else "killed" if ok is None else "badly",
                "printed": [] if ok is None else self._printed(out, words[0]),
                "said": [] if ok is None else self._said(err),
                "state": self._state(),
                "calls": self._calls(),
            }
        )
        return out + err

    def order(self, call: str) -> list[str]:
        """The things for which the last command made a call, in its order."""
        return [each["name"] for each in self._last if each["call"] == call]

    def agrees(self) -> None:
        """Fail unless all that was done is what the real CLI did."""
        its, mine = self.golden.read_text().splitlines(), _written(self.kept).splitlines()
        differs = difflib.unified_diff(its, mine, "the CLI", "this engine", n=8, lineterm="")
        assert its == mine, "\n".join(differs)

    def write(self) -> None:
        """Write down what was done as what the CLI does."""
        assert self.cli, "only the real CLI says what is right"
        self.golden.write_text(_written(self.kept))

    def _ended(self, words: tuple[str, ...]) -> tuple[int, str, str]:
        words = (*words, "--stack", self.stack.name)
        if not self.cli:
            run = warm_start.run(command.main, *words, folder=self.stack.folder, env=self.stack.env)
            return run.code, run.out, run.err
        done = subprocess.run(
            ["pulumi", *words, "--non-interactive"],
            cwd=self.stack.folder,
            env=dict(self.stack.env),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        for lock in self._backend().glob("locks/**/*.json"):
            # Of a command that was killed.
            lock.unlink()
        return done.returncode, done.stdout, done.stderr

    def _backend(self) -> Path:
        return Path(self.stack.env["PULUMI_BACKEND_URL"].removeprefix("file://")) / ".pulumi"

    def _printed(self, out: str, command: str) -> list[str]:
        lines = _lines(self._plain(out))
        if not self.of_runs:
            return lines
        # Steps, and what changes that is not a matter of when it is seen.
        return [] if command == "refresh" else [line for line in lines if _is_lasting(line)]

    def _said(self, err: str) -> list[str]:
        lines = _lines(_told(self._plain(err)))
        return [line for line in lines if not self.of_runs or not _PASSING.fullmatch(line)]

    def _plain(self, text: str) -> str:
        for place, name in ((str(self.stack.folder.parent), "<folder>"), (str(ROOT), "<root>")):
            text = text.replace(place, name)
        text = text.replace(f'"{node()}"', '"<host>"')
        for pattern, shown in _PATTERNS:
            text = re.sub(pattern, shown, text)
        return text

    def _state(self) -> dict[str, Any]:
        """The state that was left, in the order of the resources' names."""
        (file,) = self._backend().glob(f"stacks/*/{self.stack.name}.json")
        latest = json.loads(file.read_text())["checkpoint"].get("latest") or {}
        resources = sorted(
            latest.get("resources") or (), key=lambda each: (each["urn"], each.get("delete", False))
        )
        pending = latest.get("pending_operations") or ()
        return {
            "resources": [self._resource(each) for each in resources],
            "pending": [[each["type"], each["resource"]["urn"]] for each in pending],
        }

    def _resource(self, given: dict[str, Any]) -> Any:
        kept = {key: each for key, each in given.items() if each and key not in _NEVER}
        if "dependencies" in kept:
            kept["dependencies"] = sorted(kept["dependencies"])
        for room in ("inputs", "outputs"):
            if room in kept:
                kept[room] = _small(kept[room])
        return json.loads(self._plain(json.dumps(_sealed(kept))))

    def _calls(self) -> dict[str, list[Any]]:
        """The calls that a watched provider got of the last command, by thing."""
        file = self.stack.folder / "calls.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        self._last = [json.loads(line) for line in lines]
        found: dict[str, list[Any]] = {}
        for each in self._last:
            found.setdefault(each["name"], []).append(each)
        return found


def _written(kept: list[dict[str, Any]]) -> str:
    return json.dumps(kept, indent=1, sort_keys=True) + "\n"


def _lines(text: str) -> list[str]:
    """The lines, without their margins; in no order, for engines do several things at once."""
    lines = (re.sub(r"\s+", " ", line).strip().replace(" : ", ": ") for line in text.splitlines())
    return sorted({line for line in lines if not _UNTOLD.fullmatch(line)})


def _is_lasting(line: str) -> bool:
    changed = " => " in line and not any(f" {each}:" in line for each in _TIMES)
    return changed or re.fullmatch(r".*: \(\w+\)", line) is not None


def _told(text: str) -> str:
    """What is said, without tracebacks: which of an error's ways is seen first is chance."""
    if "Traceback" not in text:
        return text
    return "\n".join(line for line in text.splitlines() if line.startswith("error: "))


def _small(value: Any) -> Any:
    """The value without what is large in it, or depends on when a run is looked at."""
    if isinstance(value, dict):
        hidden = (*_LARGE, *_TIMES)
        return {key: "..." if key in hidden else _small(each) for key, each in value.items()}
    return [*map(_small, value)] if isinstance(value, list) else value


def _sealed(value: Any) -> Any:
    """The value with the same text in the place of each that is encrypted."""
    if isinstance(value, dict):
        return {
            key: "..." if key == "ciphertext" else _sealed(each)
            for key, each in sorted(value.items())
        }
    return [*map(_sealed, value)] if isinstance(value, list) else value
