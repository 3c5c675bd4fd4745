"""A package, so that the API server that its tests share ends with the last of them."""
