"""A run as everybody sees it, whatever its target: its values, identity, causes and sentences. Pure.

Between `lifecycle`, which decides what becomes of a TrainJob, and the drivers, which observe.
"""
