"""Checkpoints from inside a training program: saved when due and before it is told to end, and restored.

A checkpoint is a folder `step-NUMBER` of files, which is whole when `whole.json` is in it, written last.
"""
