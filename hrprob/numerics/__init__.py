"""Numerics that belong to no domain: written-out products, small factorisations, control flow, buffers."""
