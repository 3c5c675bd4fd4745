"""What a RuntimeCatalog declares: shipped runtimes, their copies, and what jobs still name."""
