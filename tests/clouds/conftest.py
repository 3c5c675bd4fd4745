"""Tests that need the SDKs of clouds, which `python -m tools.clouds` brings; without them there are none."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pulumi_gcp") else ["test_*.py"]
