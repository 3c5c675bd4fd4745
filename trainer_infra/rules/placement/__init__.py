"""What pods ask for, and the machines and queues that may take them: read by rules of several groups.

`amounts` says what one pod asks for, `nodes` which pods there are and how many, `machines`
which declared pools take them, `queue_objects` which flavors of their queue do.
"""
