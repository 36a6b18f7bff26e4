"""Result folders are there whole or not at all."""

import json
import os
import signal

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.io import staging
from hrprob.io.exchange import exchange
from hrprob.io.staging import staged


def stage(place, then):
    """Write a file, and let something happen before it is in place."""
    with staged(place) as folder:
        (folder / "new.svg").touch()
        then()


def earlier_result(place, *others):
    place.mkdir()
    (place / "old.svg").touch()
    for name in others:
        (place / name).write_text("mine")
    files = ["manifest.json", "old.svg"]
    (place / "manifest.json").write_text(json.dumps({"program": "hrprob", "job": "run", "files": files}))


def test_an_earlier_result_is_replaced_and_other_files_in_it_are_kept(tmp_path):
    place = tmp_path / "result"
    earlier_result(place, "notes.txt")
    with staged(place) as folder:
        (folder / "new.svg").touch()
        # Until all is done, a reader finds the earlier result.
        assert (place / "old.svg").exists()
    assert sorted(path.name for path in place.iterdir()) == ["new.svg", "notes.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_an_empty_folder_and_a_link_to_one_are_accepted(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with staged(tmp_path / "link") as folder:
        (folder / "new.svg").touch()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "new.svg").exists()


@pytest.mark.parametrize(
    "content",
    [
        None,
        "{}",
        '["program"]',
        '{"program": "other"}',
        '{"program": "hrprob", "job": "reproduce"}',
        "no JSON",
    ],
)
def test_a_folder_with_other_content_is_refused_and_left_alone(tmp_path, content):
    place = tmp_path / "website"
    place.mkdir()
    (place / "index.html").touch()
    if content is not None:
        (place / "manifest.json").write_text(content)
    before = sorted(place.iterdir())
    with (
        pytest.raises(InvalidInput, match="`out` must not be a folder with other things"),
        staged(place),
    ):
        pytest.fail("nothing may run")
    assert sorted(place.iterdir()) == before
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_work_that_fails_leaves_everything_as_it_was(tmp_path, error):
    def fail():
        raise error

    place = tmp_path / "result"
    earlier_result(place)
    for out in (place, tmp_path / "a" / "b" / "c"):
        with pytest.raises(error):
            stage(out, then=fail)
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    assert sorted(path.name for path in place.iterdir()) == ["manifest.json", "old.svg"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="can be written"), staged(tmp_path / "result"):
        pytest.fail("nothing may run")


@pytest.mark.parametrize("out", ["/proc/result", "file/below", "x" * 300])
def test_an_impossible_path_is_refused_before_any_work(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="can be written"), staged(out):
        pytest.fail("nothing may run")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("out", "words"), [("", "must name a folder"), (".", "must not be the current folder")]
)
def test_the_current_folder_is_not_renamed_away(tmp_path, monkeypatch, out, words):
    (tmp_path / "empty").mkdir()
    earlier_result(tmp_path / "earlier")
    for place in ("empty", "earlier"):
        monkeypatch.chdir(tmp_path / place)
        with pytest.raises(InvalidInput, match=words), staged(out):
            pytest.fail("nothing may run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["earlier", "empty"]


def test_a_result_that_cannot_be_moved_is_not_lost(tmp_path):
    place = tmp_path / "result"

    def fill():
        place.mkdir()
        (place / "theirs").touch()

    with pytest.raises(OSError, match="the result stays in"):
        stage(place, then=fill)
    # Not under a name that a later run would clear away.
    (saved,) = tmp_path.glob("result.*")
    assert (saved / "new.svg").exists()
    assert (place / "theirs").exists()


def test_one_process_writes_at_a_time(tmp_path):
    place = tmp_path / "result"

    def write_too():
        with pytest.raises(InvalidInput, match=f"process {os.getpid()} .* is writing there"):
            stage(place, then=lambda: pytest.fail("nothing may run"))

    stage(place, then=write_too)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["new.svg", "result"]
    # Beside it, another one may.
    stage(tmp_path / "other", then=lambda: stage(tmp_path / "third", then=lambda: None))


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    place = tmp_path / "result"
    (tmp_path / ".result.new").mkdir()
    (tmp_path / ".result.new" / "half.nc").touch()
    (tmp_path / ".result.lock").write_text("process 1 on nowhere")
    (tmp_path / ".result.mine").mkdir()
    stage(place, then=lambda: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".result.mine", "result"]


def test_a_signal_during_the_exchange_waits(tmp_path, monkeypatch):
    place = tmp_path / "result"
    earlier_result(place, "notes.txt")

    def exchange_and_signal(one, other):
        exchange(one, other)
        signal.raise_signal(signal.SIGINT)
        assert (place / "new.svg").exists()

    monkeypatch.setattr(staging, "exchange", exchange_and_signal)
    with pytest.raises(KeyboardInterrupt):
        stage(place, then=lambda: None)
    assert sorted(path.name for path in place.iterdir()) == ["new.svg", "notes.txt"]
