"""JAX as the command line uses it: float64, compiler options, and a cache of compiled programs."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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


# Blocks up to this size are kept; the arrays of a chunk of users have some ten million bytes each.
_KEPT_BYTES = 2**28
# glibc before 2.35 refuses more.
_MOST_OF_OLD_GLIBC = 2**25


def prepare_jax() -> None:
    """Switch JAX to float64 for this process, and keep compiled programs for later processes."""
    set_environment()
    _check_flags(os.environ["XLA_FLAGS"])
    _keep_freed_memory()
    jax = _import_jax()
    jax.config.update("jax_enable_x64", True)
    _check_platforms()
    cache = cache_folder()
    if cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        _replace_damaged_entries(cache)
        from hrprob._core.compiled import store_programs

        # In a folder that others can write, programs are traced again by every process.
        with contextlib.suppress(OSError):
            store_programs(cache / "programs")


def set_environment() -> None:
    """Set what libraries read from the environment."""
    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    # Figures are written to files, whatever a terminal session draws with.
    os.environ["MPLBACKEND"] = "agg"


def _keep_freed_memory() -> None:
    """Let the C library keep memory that was freed, for the next chunk of users.

    It gives large blocks back to the system otherwise, which fills every page with zeros when it is asked again: a
    fifth of the CPU time of HR-UCB. Variables ``MALLOC_..._`` of the environment have the last word.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is None or {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"} & set(os.environ):
        return
    trim_threshold, mmap_threshold = -1, -3  # of glibc's malloc.h; other libraries have no such function
    if set_option(mmap_threshold, _KEPT_BYTES) or set_option(mmap_threshold, _MOST_OF_OLD_GLIBC):
        set_option(trim_threshold, _KEPT_BYTES)


def _check_flags(flags: str) -> None:
    """Raise if XLA does not know these flags: it would end the process without an exception."""
    if flags in ("", XLA_FLAGS) or "jax" in sys.modules:
        return
    from hrprob._core.errors import InvalidInput

    command = [sys.executable, "-c", "import jax; jax.devices('cpu')"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=environment, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it gives no reason"])[-1]
        raise InvalidInput("XLA_FLAGS", "must be flags that XLA knows", flags, f"{last}; unset or mend it")


def _import_jax() -> ModuleType:
    """Return JAX, or raise if a variable of the environment has a value that it cannot read."""
    try:
        return importlib.import_module("jax")
    except ValueError as error:
        from hrprob._core.errors import InvalidInput

        settings = {name: value for name, value in os.environ.items() if name.startswith("JAX_")}
        text = str(error)
        named = [
            name for name, value in settings.items() if name.lower() in text.lower() or repr(value) in text
        ]
        if not named:
            raise
        remedy = f"{error}; unset or mend it"
        raise InvalidInput(
            named[0], "must be a setting that JAX can read", settings[named[0]], remedy
        ) from None


def _check_platforms() -> None:
    """Raise if JAX cannot compute on what JAX_PLATFORMS names."""
    import jax

    from hrprob._core.errors import InvalidInput

    try:
        jax.devices()
    except RuntimeError as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        remedy = f"{error}; unset it, or write JAX_PLATFORMS=cpu"
        raise InvalidInput(
            "JAX_PLATFORMS", "must name platforms that JAX finds here", asked, remedy
        ) from None


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


def _replace_damaged_entries(folder: Path) -> None:
    """Let JAX remove an entry that it cannot read, and write it again.

    By itself it warns, compiles, and leaves the entry as it is, in every later process again: a process that was
    killed while it wrote an entry would be felt for ever. Entries are compressed by zlib, which has a checksum of the whole;
    Zstandard, which JAX takes where it is installed, has none as JAX uses it: a flipped bit could be another program.
    """
    from jax._src import compilation_cache

    for module in ("zstd", "zstandard"):
        setattr(compilation_cache, module, None)
    # Not a public function of JAX. Without it, damaged entries are skipped with a warning as before.
    read = getattr(compilation_cache, "get_executable_and_time", None)
    if read is None or hasattr(read, "__wrapped__"):
        return

    @functools.wraps(read)
    def read_or_remove(cache_key: str, *arguments: object, **options: object) -> object:
        try:
            return read(cache_key, *arguments, **options)
        except Exception:
            # JAX compiles what it does not find, and stores it.
            Path(folder, f"{cache_key}-cache").unlink(missing_ok=True)
            return None, None

    compilation_cache.get_executable_and_time = read_or_remove  # type: ignore[assignment]


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
