"""CrossGuard's side: the rules as policies that `pulumi preview` and `pulumi up` ask.

A policy pack's `__main__.py` calls `policy_pack.serve_pack`; `server` answers the engine,
`declared_objects` reads what a resource declares and writes what a policy mends, `verdicts` has all
rules judge it at once.
"""
