"""What pods ask for, and the machines and queues that may take them: read by rules of several groups.

`amounts` and `gpus` say what one pod asks for, `nodes` which pods there are and how many, `machines`
which declared pools take them, `kueue` which flavors of their queue do.
"""
