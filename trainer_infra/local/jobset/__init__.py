"""The JobSet controller, the Job controller and the kubelet's restart policy as pure functions.

The supervisor of the local target calls `decide.decide` with every try of every pod it has seen and
does what comes back: start these, stop those, show this status. Nothing here does I/O.
"""
