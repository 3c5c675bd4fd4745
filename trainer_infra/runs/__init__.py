"""A run as everybody sees it, whatever its target: its values, identity, causes and sentences. Pure.

Between `lifecycle`, which decides what becomes of a TrainJob, and the drivers, which observe. `view`
makes a `Run` of what a driver observed; `target` is the protocol that every driver keeps.
"""
