"""Trainers that prepare a framework for your own function: what it takes by name is there when it is called."""
