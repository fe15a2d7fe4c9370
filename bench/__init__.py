"""Benchmarks: a folder a scenario, a file a contender. `python -m bench --help` lists them."""
