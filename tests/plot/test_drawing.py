"""Figures of a run that another process draws."""

import subprocess
import sys
from pathlib import Path

import pytest

from hrprob.plot.drawing import draw_run, drawing_process
from tests.plot.example import CASES

FILES = ["lifetime.png", "lifetime.svg", "regret.png", "regret.svg"]


def test_the_other_process_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    # Its kinds of policies are not imported there, but it must leave the oracle out.
    run = CASES["far apart"].assign_attrs(policies='{"oracle": {"kind": "oracle"}}')
    draw_run(run, tmp_path / "here")
    with drawing_process() as draw:
        draw(run, tmp_path / "there")()
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == FILES
    for name in FILES:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_its_errors_are_raised_here_and_it_draws_on(tmp_path: Path) -> None:
    with drawing_process() as draw:
        with pytest.raises(FileNotFoundError):
            draw(CASES["alike"], tmp_path / "nowhere")()
        draw(CASES["alike"], tmp_path)()
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


class Deadly(type(Path())):  # type: ignore[misc]
    """A path that ends the process which takes it from a connection."""

    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("raise SystemExit(1)",)


def test_figures_are_drawn_here_when_the_other_process_has_ended(tmp_path: Path) -> None:
    with drawing_process() as draw:
        draw(CASES["alike"], Deadly(tmp_path))()
        assert sorted(path.name for path in tmp_path.iterdir()) == FILES
        draw(CASES["alike"], tmp_path)()


def test_it_does_not_import_jax() -> None:
    code = "import hrprob.plot.drawing as d, importlib, sys; [importlib.import_module(m) for m in d._LOADED]; print('jax' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "False"


def test_large_runs_are_drawn_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hrprob.plot.drawing._MOST_BYTES", 0)
    drawn = []
    monkeypatch.setattr("hrprob.plot.drawing.draw_run", lambda *given: drawn.append(given))
    with drawing_process() as draw:
        draw(CASES["alike"], tmp_path)()
    assert drawn == [(CASES["alike"], tmp_path)]
