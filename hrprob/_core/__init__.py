"""Foundations of every other package: errors, records, tables, the registry, precision, random numbers."""
