"""Serving real users: a policy as an object that takes one outcome after another."""
