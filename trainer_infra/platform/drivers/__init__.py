"""What makes a machine's accelerators usable: one DeviceDriver for each cluster."""
