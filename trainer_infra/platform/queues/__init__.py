"""What a program declares for Kueue and Volcano: one component for each kind of object."""
