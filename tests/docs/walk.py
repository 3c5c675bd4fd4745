"""A page followed as its reader does: commands go into one shell, files into its current folder."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.docs.page import SHELL, Block

_END = "--end-of-block--"


class Walk:
    """One reader."""

    def __init__(self, shell: "subprocess.Popen[str]", folder: Path) -> None:
        self._shell = shell
        self.folder = folder
        """Where the shell is."""
        self._said = ""

    def follow(self, blocks: Iterable[Block]) -> None:
        """Do what each block says, in order; what is shown is compared with what comes."""
        for block in blocks:
            if block.file:
                (self.folder / block.file).write_text(block.text)
            elif block.language in SHELL:
                self._type(block)
            else:
                assert block.language == "text", f"{block}: no reader knows what to do with it"
                missing = list(unseen(block.text, self._said))
                assert missing == [], f"{block}: {self._said}"

    def _type(self, block: Block) -> None:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f'{block.text}\necho "{_END}$PWD"\n')
        self._shell.stdin.flush()
        self._said = ""
        for line in self._shell.stdout:
            if line.startswith(_END):
                self.folder = Path(line.removeprefix(_END).rstrip("\n"))
                return
            self._said += line
        # The shell ends with the first command that fails.
        raise AssertionError(f"{block}: {self._said}")


@contextmanager
def walking(folder: Path, env: Mapping[str, str]) -> Iterator[Walk]:
    """A reader who begins in a folder."""
    with subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as shell:
        try:
            yield Walk(shell, folder)
        finally:
            shell.kill()


def unseen(shown: str, said: str) -> Iterator[str]:
    """Lines that a page shows and that did not come, in their order.

    A line may be a part of one, and others may come between, for which the page may show `...`. Hashes and
    measured values differ.
    """
    lines = iter(map(_stable, said.splitlines()))
    for wanted in shown.splitlines():
        if wanted not in ("", "...") and not any(_stable(wanted) in line for line in lines):
            yield wanted


def _stable(line: str) -> str:
    named = re.sub(r"-[0-9a-f]{8}\b", "-<hash>", line)
    return " ".join(re.sub(r"\b\d+\.\d{2,}\b", "<measured>", named).split())


def environment(base: Mapping[str, str], home: Path) -> dict[str, str]:
    """The variables of who has just begun: a home of their own, no passphrase, nothing on PATH of ours."""
    home.mkdir()
    cache = base.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    own = {"HOME": str(home), "TRAINER_INFRA_CACHE": f"{cache}/trainer-infra"}
    left_out = ("PULUMI_CONFIG_PASSPHRASE", "VIRTUAL_ENV")
    kept = {key: value for key, value in base.items() if key not in left_out}
    return {**own, **kept, "HOME": str(home), "PATH": os.environ["PATH"]}
