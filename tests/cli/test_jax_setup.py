"""The cache of compiled programs."""

from hrprob.cli.jax_setup import cache_folder


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
