"""What is finished is kept, and goes on only with what it was begun with."""

import errno
import sys

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.io.chunks import ArrayFolder, ChunkFolder
from hrprob.io.sources import sources
from hrprob.io.staging import reserved
from hrprob.io.unfinished import unfinished

REFUSED = InvalidInput("scheduler", "must answer", "tcp://host:1", "start it")


def begin(destination, **options):
    with unfinished(destination, {"job": "run"}, resume=False, **options) as folder:
        (folder / "chunk.npz").write_text("an hour of work")
        raise KeyboardInterrupt


def test_chunks_outlive_an_input_that_cannot_be_used(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "out")
    with (
        pytest.raises(InvalidInput) as refused,
        unfinished(tmp_path / "out", {"job": "run"}, resume=True) as folder,
    ):
        raise REFUSED
    assert (folder / "chunk.npz").read_text() == "an hour of work"
    assert "--resume" in refused.value.__notes__[0]


def test_without_chunks_nothing_is_left(tmp_path):
    with pytest.raises(InvalidInput), unfinished(tmp_path / "out", {"job": "run"}, resume=False):
        raise REFUSED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["null", "[]", "3", '"text"', "{", "[" * 100_000])
def test_a_damaged_plan_is_begun_anew(tmp_path, content):
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "out")
    (tmp_path / ".out.unfinished" / "plan.json").write_text(content)
    with unfinished(tmp_path / "out", {"job": "run"}, resume=True) as folder:
        assert [path.name for path in folder.iterdir()] == ["plan.json"]


def test_a_full_disk_is_named_with_what_to_do(tmp_path):
    with pytest.raises(OSError, match="No space left") as failed, reserved(tmp_path / "out", "run"):
        raise OSError(errno.ENOSPC, "No space left on device")
    (note,) = failed.value.__notes__
    assert str(tmp_path) in note
    assert "--out" in note


def test_no_flipped_bit_of_a_chunk_is_read(tmp_path):
    folder = ArrayFolder(tmp_path, "mark")
    folder.save("job", {"a": [1.0]})
    file = tmp_path / "job.npz"
    whole = file.read_bytes()
    # Bits of flags, sizes, methods, names and numbers; every third, for time.
    for bit in range(0, 8 * len(whole), 3):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        file.write_bytes(content)
        arrays = folder.load("job")
        # Some bits of a ZIP archive mean nothing: dates, for example.
        assert arrays is None or {name: values.tolist() for name, values in arrays.items()} == {"a": [1.0]}


def test_an_entry_that_seems_encrypted_is_damaged(tmp_path):
    folder = ChunkFolder(tmp_path, "mark")
    folder.save(0, 0, {}, {})
    file = tmp_path / "block-000000" / "state.npz"
    content = bytearray(file.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] ^= 1
    file.write_bytes(content)
    assert folder.load(0) is None


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Return a module of one's own with contexts, and a function that writes it again."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "own_code_of_a_test.py"

    def write(scale):
        file.write_text(
            f"import jax.numpy as jnp\ndef turning(key, user):\n    return {scale} * jnp.eye(2)\n",
            encoding="utf-8",
        )

    write(0.5)
    yield "own_code_of_a_test", write
    sys.modules.pop("own_code_of_a_test", None)


def test_the_source_of_named_functions_and_modules_counts(own_module):
    name, write = own_module
    contexts = hrprob.ContextFunction(f"{name}:turning", actions=2)
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9], contexts=contexts)
    before = sources({"part": [problem]})
    assert list(before) == [name]
    assert sources(modules=[name]) == before
    write(0.25)
    assert sources(problem).keys() == before.keys()
    assert sources(problem) != before
    assert sources(hrprob.Problem(), hrprob.Thompson()) == {}


def test_kinds_of_ones_own_count():
    from tests.plugins import policy

    (own,) = [
        one for one in vars(policy).values() if isinstance(one, type) and one.__module__ == policy.__name__
    ]
    assert list(sources(own())) == [policy.__name__]


def test_a_plan_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hrprob.io.unfinished.write_json", full)
    with pytest.raises(OSError, match="No space"), unfinished(tmp_path / "out", {"job": "run"}, resume=False):
        pass
    assert list(tmp_path.iterdir()) == []
