"""Fixtures of the tests of pages: a page's program is the subject, not the CLI."""

from tests.engine.fixtures import engine_stack, stack

__all__ = ["engine_stack", "stack"]
