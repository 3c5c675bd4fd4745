"""What was observed -> what is true and what to do next. Pure; one file per spec field.

Two ways in, described in docs/lifecycle.md: `plan.plan`, which drivers (deploy, local, later the
controller) execute, and `admission`, which judges objects before they are stored.
"""
