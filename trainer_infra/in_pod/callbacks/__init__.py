"""Callbacks that report how far a training is, one file per framework.

Each needs its own framework and no other, which it imports when it is imported itself. What they share stands
in `training_progress`. Users reach them by `trainer_infra.callbacks`.
"""
