"""Policy rules on files, pull requests and clusters, and the reports for people and machines.

`sources` finds objects, `check` judges them, `report` is what came of it, and each format has a
file of its own that makes text of a report.
"""
