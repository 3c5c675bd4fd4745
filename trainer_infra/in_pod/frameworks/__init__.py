"""What a training function finds prepared, one file per framework: process groups, meshes, typed arguments.

Each file has `prepared(settings)`, a context in which the function runs, and which gives it arguments by name.
`main` enters it where launch.json names the framework. Each needs its framework.
"""
