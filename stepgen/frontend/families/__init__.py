"""A file for each family of models that a checkpoint can be of."""
