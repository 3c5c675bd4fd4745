"""What was observed -> what is true and what to do next. Pure; one file per spec field.

`plan.plan` is the one way in; drivers (deploy, local, later the controller) execute what it says.
"""
