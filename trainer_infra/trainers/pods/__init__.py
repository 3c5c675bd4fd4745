"""What every trainer says of the pods that it trains in: counts, resources, environment, files and packages."""
