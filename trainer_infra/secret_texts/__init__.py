"""Secrets in texts: what is one, by its form, its name or the place that it is written at. Pure."""
