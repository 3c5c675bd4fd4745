"""The progress protocol of a TrainJob: a handler, which local/endpoint.py and controller/status_server.py mount."""
