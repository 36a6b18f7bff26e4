"""JAX as the command line uses it: float64, compiler options, and a cache of compiled programs."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

__all__ = ["XLA_FLAGS", "cache_folder", "prepare_jax"]

XLA_FLAGS = "--xla_backend_extra_options=" + ",".join(
    (
        # Loops over small states run as one kernel: a sixth less CPU time on the paper's comparison.
        "xla_cpu_small_while_loop_byte_threshold=1000000",
        # The older code generator of jax 0.10 compiles in two thirds of the time; later versions have one only.
        "xla_cpu_disable_new_fusion_emitters",
    )
)
"""Options for JAX's compiler: less time, the same numbers to the last bit."""


def prepare_jax() -> None:
    """Switch JAX to float64 for this process, and keep compiled programs for later processes."""
    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    import jax

    jax.config.update("jax_enable_x64", True)
    cache = cache_folder()
    if cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def cache_folder() -> Path | None:
    """Return the folder of compiled programs, or None if there cannot or must not be one.

    ``HRPROB_CACHE`` names the folder; if it is empty there is no cache.
    """
    given = os.environ.get("HRPROB_CACHE")
    if given == "":
        return None
    try:
        user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(given or Path(user, "hrprob")) / _processor()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
    except (OSError, RuntimeError):
        # Without a home, or permission to write there, programs are compiled again: slower, the same numbers.
        return None
    return folder


def _processor() -> str:
    """Return a name for the processor that programs are compiled for: different machines may share a home."""
    try:
        features = [
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line or "flags" in line
        ]
    except OSError:
        features = [platform.processor()]
    return f"{platform.machine()}-{hashlib.sha256(''.join(sorted(set(features))).encode()).hexdigest()[:12]}"
