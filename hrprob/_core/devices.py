"""Where computations run: a device by its name, tested on CPU only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax

from hrprob._core.errors import InvalidInput

__all__ = ["find_device", "on_device"]


def find_device(name: str) -> jax.Device:
    """Return a device of JAX by platform and number, or raise.

    Examples
    --------
    >>> find_device("cpu").platform, find_device("cpu:0").id
    ('cpu', 0)
    """
    platform, _, number = str(name).partition(":")
    try:
        there = jax.devices(platform)
        return there[int(number or 0)]
    except (RuntimeError, ValueError, IndexError):
        known = ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())
        remedy = f"JAX has {known}; another needs its own installation of JAX"
        raise InvalidInput("device", "must be a device of JAX, as cpu or gpu:0", name, remedy) from None


@contextlib.contextmanager
def on_device(name: str | None) -> Iterator[None]:
    """Let programs run on a device; None leaves the choice to JAX."""
    if name is None:
        yield
        return
    with jax.default_device(find_device(name)):
        yield
