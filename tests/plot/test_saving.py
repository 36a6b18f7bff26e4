"""Figures as files."""

import warnings

import pytest

from hrprob import plot
from tests.plot.example import CASES


def test_files_are_the_same_each_time(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("first", "second"):
            plot.save(plot.plot_regret(CASES["alike"]), tmp_path, name)
    for end in ("png", "svg"):
        assert (tmp_path / f"first.{end}").read_bytes() == (tmp_path / f"second.{end}").read_bytes()
    assert b"policy 0" in (tmp_path / "first.svg").read_bytes()


def test_the_background_process_writes_the_same_bytes(tmp_path):
    figure = plot.plot_regret(CASES["alike"])
    (tmp_path / "background").mkdir()
    with plot.save_in_background() as save:
        save(figure, tmp_path / "background", "regret")
    plot.save(figure, tmp_path, "regret")
    for name in ("regret.png", "regret.svg"):
        assert (tmp_path / "background" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_an_error_in_the_background_process_is_raised_here(tmp_path):
    with pytest.raises(FileNotFoundError), plot.save_in_background() as save:
        save(plot.plot_regret(CASES["alike"]), tmp_path / "nowhere", "regret")
