"""What runs inside training pods, in images that we do not know.

Stands alone: it imports nothing else of ours, keeps to the syntax of Python 3.9, and only the files that say
so need more than the standard library. Users reach it by `trainer_infra.report` and `trainer_infra.storage`.
"""
