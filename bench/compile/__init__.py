"""How long until the first mask of a large grammar."""
