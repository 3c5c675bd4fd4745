"""Nouns: the typed kinds of the API, and YAML in and out. Thinks only, does no I/O."""
