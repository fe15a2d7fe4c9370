"""The slow truth: what a grammar means, in as few lines as possible. Never shipped, only tested against."""
