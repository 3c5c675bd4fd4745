"""A small engine that does for one program what Pulumi's does: for tests, in one process, in 0.1 s."""
