"""The page's five lines: ACTG 175 from raw columns to a checked posterior."""

import ast
import re
import time
from pathlib import Path

import numpy as np
import pytest

import hrprob
from hrprob.fitting.from_data import estimate

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "raw-columns.md"


def weighted_least_squares(x, r):
    """Coefficients and standard errors: log squared residuals on x give the weights, a few times over."""
    beta = np.linalg.lstsq(x, r, rcond=None)[0]
    for _ in range(10):
        log_squares = np.log((r - x @ beta) ** 2 + 1e-12)
        w = np.exp(x @ np.linalg.lstsq(x, log_squares, rcond=None)[0])
        # E ln χ²₁ is a constant, which scales all weights alike.
        w *= np.mean((r - x @ beta) ** 2 / w)
        beta = np.linalg.solve((x / w[:, None]).T @ x, x.T @ (r / w))
    return beta, np.sqrt(np.diag(np.linalg.inv((x / w[:, None]).T @ x)))


def run_page(engine, monkeypatch):
    """Run the page's first block of code with another default engine, and return the posterior."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).group(1)
    statements = [one for one in ast.parse(code).body if not isinstance(one, ast.Import)]
    assert len(statements) == 5
    made, fit = {}, hrprob.fit
    monkeypatch.setattr(hrprob, "fit", lambda *args, **kwargs: fit(*args, **{"engine": engine} | kwargs))
    exec(code, made)
    return made["posterior"], made


def check_posterior(posterior):
    table = posterior.table
    assert (len(table), table.dimension) == (2139, 9)
    for name in ("theta", "phi"):
        bound = getattr(posterior.setting.bounds, name)
        assert np.linalg.norm(posterior.slopes(name), axis=-1).max() < 0.98 * bound
    beta, se = weighted_least_squares(table.x, table.r)
    assert np.all(np.abs(posterior.flat()["theta"].mean(axis=0) - beta) < se)
    found = estimate(table, posterior.setting.link)
    spread = np.sqrt(np.diag(found.phi_covariance))
    assert np.all(np.abs(posterior.flat()["phi"].mean(axis=0) - found.phi) < spread)
    assert posterior.concerns() == []


@pytest.mark.slow
def test_five_lines_with_laplace(monkeypatch, capsys):
    posterior, _ = run_page("laplace", monkeypatch)
    check_posterior(posterior)
    said = capsys.readouterr().out
    assert "chosen from the data" in said
    assert "kurtosis" in said  # the check finds the heavy tails


@pytest.mark.study
def test_five_lines_with_nuts(monkeypatch):
    posterior, made = run_page("nuts", monkeypatch)
    check_posterior(posterior)
    assert posterior.divergences == 0
    options = {"outcome": "gain", "context": made["features"], "scale": "standardise", "intercept": True}
    monkeypatch.undo()
    start = time.process_time()
    hrprob.fit(made["patients"], "nuts", bounds="auto", seed=1, **options)
    seconds = time.process_time() - start
    print(f"nuts, compiled: {seconds:.1f} CPU s")
    assert seconds <= 30.0


@pytest.mark.study
def test_unknown_degrees_of_freedom_are_learned_from_heavy_tails(monkeypatch):
    _, made = run_page("laplace", monkeypatch)
    monkeypatch.undo()
    options = {"outcome": "gain", "context": made["features"], "scale": "standardise", "intercept": True}
    heavy = hrprob.fit(made["patients"], "nuts", bounds="auto", model="student-t-unknown", **options)
    assert np.quantile(heavy.sites["df"], 0.99) < 15
