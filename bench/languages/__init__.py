"""Whole languages over real text: latency, and who accepts what, beside peers and Lark."""
