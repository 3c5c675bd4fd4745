"""Pools of machines with accelerators: one declaration, and who makes the machines of it."""
