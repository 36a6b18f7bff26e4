"""A bounded part of ``python -m tests.fuzz``: readers refuse cleanly or accept, and what is accepted plays as a plain loop does."""

import warnings
from pathlib import Path

import pytest

from tests.fuzz.played import SHAPES, play
from tests.fuzz.readers import READERS, feed, prepare

# HDF5 files take ten times as long as the others.
INPUTS = {"netcdf": 15, "posterior": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hrprob.plot.save", lambda figure, folder, name: None)
        prepare(place)
    return place


@pytest.mark.parametrize("name", READERS)
def test_what_nobody_should_write_is_refused_or_right(folder, name):
    with warnings.catch_warnings():
        # Of damaged files that are read as far as they go; refusals are what counts.
        warnings.simplefilter("ignore")
        ends = {feed(name, number, 1, Path(folder)) for number in range(INPUTS.get(name, 120))}
    assert False in ends


@pytest.mark.slow
@pytest.mark.optimised
def test_accepted_configurations_play_as_a_plain_loop():
    # Two shapes of six, each a program.
    ends = [play(len(SHAPES) * turn + shape, 1) for shape in (0, 1) for turn in range(20)]
    assert ends.count("played") > 20
    assert "refused" in ends
