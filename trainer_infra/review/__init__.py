"""Policy rules on files, pull requests and clusters, and what people and machines are told of it.

`sources` finds objects, `check` judges them, `report` is what came of it, and each format has a
file of its own that makes text of a report.
"""
