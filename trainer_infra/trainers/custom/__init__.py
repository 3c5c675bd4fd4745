"""CustomTrainer: the user's own code, from a function, a file or a folder to a trainer that is packed."""
