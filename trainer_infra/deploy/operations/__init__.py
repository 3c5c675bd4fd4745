"""What the engine asks of our resources, decided without Pulumi: one module for each resource.

Nothing here knows Pulumi, gRPC or the process that it runs in: what operations of one stack share
is in a `session.StackSession`, what they answer in `answers`. `deploy.provider` is their edge with
the engine.
"""
