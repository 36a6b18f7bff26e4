"""Say which packages are shipped; everything else is in pyproject.toml.

models/ and experiments/ stand at the top of the tree and are shipped as hrprob.models and
hrprob.experiments. They are looked for at the top, never through the links hrprob/models and
hrprob/experiments, which an sdist does not carry.
"""

from setuptools import find_packages, setup

TOP = ["models", "experiments"]


def packages() -> list[str]:
    """Return the names of all packages, as they are imported."""
    inside = find_packages(include=["hrprob", "hrprob.*"], exclude=[f"hrprob.{name}*" for name in TOP])
    at_top = find_packages(include=[*TOP, *(f"{name}.*" for name in TOP)])
    return inside + [f"hrprob.{name}" for name in at_top]


setup(packages=packages())
