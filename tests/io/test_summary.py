"""A run in numbers."""

import math

import pytest

from hrprob.io.summary import _has_infinite_mean, summary
from tests.io.example import TRIALS, load


def test_the_summary_is_what_the_dataset_says(folder, dataset):
    summary = load(folder / "summary.json")
    assert list(summary) == ["Zufall (±)", "oracle"]
    entry = summary["Zufall (±)"]
    assert list(entry) == ["regret", "lifetime", "seconds"]
    assert list(entry["regret"]) == ["1", "1001", "2001", "2500"]
    regret = dataset.regret.sel(policy="Zufall (±)", user=1001).values
    assert entry["regret"]["1001"]["mean"] == pytest.approx(sum(regret) / TRIALS, rel=1e-14)
    deviation = math.sqrt(sum((regret - sum(regret) / TRIALS) ** 2) / (TRIALS - 1))
    assert entry["regret"]["1001"]["se"] == pytest.approx(deviation / math.sqrt(TRIALS), rel=1e-12)
    # All users are kept, so the mean lifetime can be had from them too.
    lifetimes = dataset.lifetime.sel(policy="Zufall (±)").values.mean(axis=1)
    assert entry["lifetime"]["mean"] == pytest.approx(lifetimes.mean(), rel=1e-12)
    assert entry["seconds"] > 0


def test_a_summary_has_null_where_there_is_no_number(dataset):
    one = dataset.isel(trial=[0])
    assert summary(one)["oracle"]["regret"]["2500"] == {"mean": 0.0, "se": None}
    endless = dataset.assign(regret=dataset.regret + math.inf)
    assert summary(endless)["oracle"]["regret"]["1"] == {"mean": None, "se": None}


@pytest.mark.parametrize("name", ["regret", "lifetime"])
def test_one_infinite_mean_is_enough_for_the_note(name):
    fine = {"mean": 1.0, "se": None}
    entry = {"regret": {"40": fine}, "lifetime": fine}
    assert not _has_infinite_mean({"a": entry}, 40)
    none = {"mean": None, "se": None}
    bad = entry | {name: {"40": none} if name == "regret" else none}
    assert _has_infinite_mean({"a": entry, "b": bad}, 40)
