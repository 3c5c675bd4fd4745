"""The JobSet controller, the Job controller and the kubelet's restart policy as functions without I/O."""
