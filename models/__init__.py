"""Outcome models: NumPyro programs, one a file."""
