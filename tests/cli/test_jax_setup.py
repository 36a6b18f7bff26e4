"""The cache of compiled programs."""

import os
import subprocess
import sys

from hrprob.cli.jax_setup import cache_folder
from tests.cli.example import ROOT

DAMAGE = """
import sys, types, warnings
# As if it were installed; whoever uses it fails.
sys.modules["zstandard"] = types.ModuleType("zstandard")
from hrprob.cli.jax_setup import cache_folder, prepare_jax
warnings.simplefilter("error")
prepare_jax()
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
@jax.jit
def double(x):
    return x * 2
print(double(21.0))
(entry,) = cache_folder().glob("jit_double-*-cache")
whole = entry.read_bytes()
flipped = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in (50, len(whole) // 2, len(whole) - 1)]
for damaged in (whole[:100], b"", *flipped):
    entry.write_bytes(damaged)
    jax.clear_caches()
    print(double(21.0), entry.read_bytes() != damaged)
"""


def test_the_cache_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HRPROB_CACHE", str(tmp_path / "told"))
    assert cache_folder().parent == tmp_path / "told"
    monkeypatch.setenv("HRPROB_CACHE", "")
    assert cache_folder() is None
    monkeypatch.delenv("HRPROB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().parent == tmp_path / "xdg" / "hrprob"
    (tmp_path / "file").touch()
    monkeypatch.setenv("HRPROB_CACHE", str(tmp_path / "file"))
    assert cache_folder() is None


def test_a_damaged_entry_is_replaced_without_a_warning(tmp_path):
    environment = os.environ | {"HRPROB_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["42.0"] + ["42.0 True"] * 5
