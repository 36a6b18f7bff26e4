"""The folder of a job in parts."""

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.io import run_cache


def test_a_job_in_parts_needs_a_named_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="`--out` must name a folder"):
        run_cache.prepare_folder("", "suite", [])
    assert list(tmp_path.iterdir()) == []
    assert run_cache.prepare_folder(".", "suite", []).samefile(tmp_path)
