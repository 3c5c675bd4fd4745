"""The kernel that runs here."""

from __future__ import annotations

from pathlib import Path


def boot_id() -> str:
    """What this kernel is called since it started, and no other one; empty where it does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
