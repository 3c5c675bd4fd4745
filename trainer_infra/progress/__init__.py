"""The progress protocol of a TrainJob (reference behaviour 6): one handler without a transport.

`handler.handle_request` answers a request; the local target mounts it on loopback
(local/endpoint.py), the manager of a cluster on its own port (controller/status_server.py).
"""
