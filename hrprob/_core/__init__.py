"""Foundations that every other package stands on: errors, records, the registry, precision, random numbers."""
