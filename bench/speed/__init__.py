"""Tokens a second of a real model."""
