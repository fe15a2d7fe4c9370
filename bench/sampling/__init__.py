"""One sampling step, from logits to a token."""
