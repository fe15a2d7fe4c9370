"""Mask and commit over texts: distributions, compile times, memory; beside peers, answers compared."""
