"""What the command line of a container starts, read without running it.

`references` says what its variables are, `shell_script` splits what a shell is given, `program` finds
the launcher and reads its options, and `launch_faults` says why the nodes would not train together.
"""
