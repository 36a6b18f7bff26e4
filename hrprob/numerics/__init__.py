"""Numerical tools that belong to no domain: products, factorisations, buffers, control flow, multiple testing."""
