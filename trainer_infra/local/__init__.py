"""The local target: a rendered TrainJob as process trees on this machine.

`runs` is the one way in. One supervisor process per run (`supervisor`) executes the Plan that
`lifecycle` makes and the decisions of `jobset`; the state is one folder per run (`folder`).
"""
