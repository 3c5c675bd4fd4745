"""The `trainer-infra` command: parses, calls the rooms below, prints.

One module per command, `main` with their signatures. Nothing here decides what a TrainJob is or
how it runs; Pulumi is never imported.
"""
