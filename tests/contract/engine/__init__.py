"""The engine for tests and the real CLI, held to the same records of what they do."""
