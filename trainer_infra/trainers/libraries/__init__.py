"""Trainers of libraries: typed configurations that become the command lines of their own programs."""
