"""Random numbers: the generator, the distributions, and a different number at every address."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.extend.random import threefry_2x32
from scipy import stats

from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import WARMUP_USERS, Purpose, Source, key_of, threefry, trial_keys

# Accuracy to the last digits is that of optimised code.
pytestmark = pytest.mark.optimised

USERS, INDICES, TRIALS = 500, 20, 10
N = USERS * INDICES * TRIALS
# A statistic further from its mean than this has a probability of 6e-5, and the seed is fixed.
ERRORS = 4.0

words = st.integers(0, 2**32 - 1)


def source(seed: int = 0, users: int = USERS, trials: int = TRIALS) -> Source:
    return Source(trial_keys(seed, np.arange(trials)), jnp.arange(1, users + 1, dtype=jnp.uint32))


def draw(kind: str, purpose: Purpose = Purpose.NOISE, seed: int = 0) -> np.ndarray:
    with double_precision():
        return np.asarray(getattr(source(seed), kind)(purpose, (INDICES,)))


@given(key=st.tuples(words, words), counter=st.tuples(words, words))
def test_threefry_is_that_of_jax(key: tuple[int, int], counter: tuple[int, int]) -> None:
    pair = jnp.array(key, dtype=jnp.uint32)
    expected = threefry_2x32(pair, jnp.array(counter, dtype=jnp.uint32))
    got = threefry((pair[0], pair[1]), (jnp.uint32(counter[0]), jnp.uint32(counter[1])))
    assert [int(word) for word in got] == expected.tolist()


def test_threefry_known_answers() -> None:
    # The test vectors that the authors publish with Random123 (threefry2x32, 20 rounds).
    vectors = [
        ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ]
    for key, counter, expected in vectors:
        got = threefry(tuple(map(jnp.uint32, key)), tuple(map(jnp.uint32, counter)))
        assert tuple(int(word) for word in got) == expected


class TestAddresses:
    """A number depends on seed, trial, user, purpose and index, and on nothing else."""

    def test_one_user_and_trial_alone_has_the_same_numbers(self) -> None:
        with double_precision():
            whole = np.asarray(source().normal(Purpose.NOISE, (INDICES,)))
            first, second = trial_keys(0, np.arange(TRIALS))
            for user, index, trial in [(0, 0, 0), (7, 3, 2), (USERS - 1, INDICES - 1, TRIALS - 1)]:
                alone = Source((first[trial], second[trial]), jnp.uint32(user + 1))
                assert float(alone.normal(Purpose.NOISE, (), index)) == whole[user, index, trial]

    @pytest.mark.parametrize("kind", ["uniform", "normal", "coarse_normal"])
    def test_drawing_can_start_at_any_index(self, kind: str) -> None:
        with double_precision():
            draws = getattr(source(users=3, trials=2), kind)
            whole = np.asarray(draws(Purpose.NOISE, (INDICES,)))
            rest = np.asarray(draws(Purpose.NOISE, (INDICES - 8,), 8))
        np.testing.assert_array_equal(whole[:, 8:], rest)

    def test_shape_is_read_row_by_row(self) -> None:
        with double_precision():
            flat = np.asarray(source(users=3, trials=2).uniform(Purpose.RADII, (12,)))
            square = np.asarray(source(users=3, trials=2).uniform(Purpose.RADII, (4, 3)))
        np.testing.assert_array_equal(flat.reshape(3, 4, 3, 2), square)

    def test_trial_keys_of_any_subset(self) -> None:
        with double_precision():
            all_trials = np.array(trial_keys(3, np.arange(50)))
            some = np.array(trial_keys(3, np.array([7, 3])))
        np.testing.assert_array_equal(all_trials[:, [7, 3]], some)

    def test_no_two_addresses_have_the_same_number(self) -> None:
        """Threefry is a bijection, so different counters under one key never give the same words."""
        users = jnp.array([1, 2, 3, 2**31 - 1, WARMUP_USERS, WARMUP_USERS + 1], dtype=jnp.uint32)
        places = [0, 1, 2**16, 2**28 - 1]
        seen = set()
        with double_precision():
            key = tuple(word[0] for word in trial_keys(0, np.arange(1)))
            for purpose, start in itertools.product(Purpose, places):
                left, right = (np.asarray(word) for word in Source(key, users).words(purpose, (), start))
                seen |= set(zip(left.tolist(), right.tolist(), strict=True))
        assert len(seen) == len(users) * len(places) * len(Purpose)

    def test_trials_and_seeds_have_different_keys(self) -> None:
        with double_precision():
            keys = [np.array(trial_keys(seed, np.arange(1000))).T for seed in range(20)]
        assert len(np.unique(np.concatenate(keys), axis=0)) == 20 * 1000

    def test_keys_of_purposes_differ_from_all_other_keys_of_the_seed(self) -> None:
        with double_precision():
            split = jax.random.key_data(jax.random.split(key_of(5), 1000))
            trials = np.array(trial_keys(5, np.arange(1000))).T
            purposes = [jax.random.key_data(key_of(5, purpose)) for purpose in Purpose]
        keys = np.concatenate([jax.random.key_data(key_of(5))[None], split, trials, np.array(purposes)])
        assert len(np.unique(keys, axis=0)) == len(keys)

    def test_keys_for_jax(self) -> None:
        with double_precision():
            first, second = trial_keys(0, np.arange(2))
            one = Source((first[0], second[0]), jnp.uint32(5)).key(Purpose.POLICY)
            other = Source((first[1], second[1]), jnp.uint32(5)).key(Purpose.POLICY)
            assert float(jax.random.uniform(one)) != float(jax.random.uniform(other))


class TestDistributions:
    """Moments within four errors; the Kolmogorov–Smirnov distance below its 1e-4 quantile."""

    def test_uniform(self) -> None:
        sample = draw("uniform").ravel()
        assert sample.dtype == np.float64
        assert sample.min() > 0
        assert sample.max() < 1
        # Mean 1/2 and variance 1/12; the variance of a squared deviation is 1/180.
        assert abs(sample.mean() - 0.5) < ERRORS * math.sqrt(1 / 12 / N)
        assert abs(((sample - 0.5) ** 2).mean() - 1 / 12) < ERRORS * math.sqrt(1 / 180 / N)
        assert stats.kstest(sample, "uniform").pvalue > 1e-4

    def test_uniform_uses_all_bits(self) -> None:
        # Odd multiples of 2⁻⁵², so symmetric about 1/2; the last bit of 51 is 0 or 1 with probability ½.
        units = draw("uniform").ravel() * 2.0**52
        assert np.all(units % 2 == 1)
        last = (units - 1) / 2 % 2
        assert abs(last.mean() - 0.5) < ERRORS * 0.5 / math.sqrt(N)

    @pytest.mark.parametrize("kind", ["normal", "coarse_normal"])
    def test_normal(self, kind: str) -> None:
        sample = draw(kind).ravel()
        assert sample.dtype == np.float64
        # The k-th power has mean (k − 1)!! for even k and 0 for odd, and the variance of its mean is
        # ((2k − 1)!! − mean²)/N.
        for power, mean, second in [(1, 0, 1), (2, 1, 3), (3, 0, 15), (4, 3, 105)]:
            assert abs((sample**power).mean() - mean) < ERRORS * math.sqrt((second - mean**2) / N)
        assert stats.kstest(sample, "norm").pvalue > 1e-4

    @pytest.mark.parametrize("level", [2.0, 3.0, 3.7])
    @pytest.mark.parametrize("sign", [-1, 1])
    def test_tails_of_the_normal(self, level: float, sign: int) -> None:
        sample = np.concatenate([draw("normal", seed=seed).ravel() for seed in range(1, 6)])
        probability = stats.norm.sf(level)
        beyond = np.sum(sign * sample > level)
        assert abs(beyond - sample.size * probability) < ERRORS * math.sqrt(sample.size * probability)

    def test_ends_of_the_normal(self) -> None:
        # The two outermost words, and the quantiles that they stand for.
        for word, place in [(0, 0.5**52), (2**32 - 1, -(0.5**52))]:
            with double_precision():
                fixed = _Fixed((jnp.uint32(word), jnp.uint32(word)))
                value = float(Source.normal(fixed, Purpose.NOISE))
                coarse = float(Source.coarse_normal(fixed, Purpose.NOISE))
            assert value == pytest.approx(math.copysign(stats.norm.isf(abs(place)), -place), rel=1e-9)
            assert abs(coarse) == pytest.approx(stats.norm.isf(2.0**-23), rel=1e-5)

    @pytest.mark.parametrize("axis", [0, 1, 2], ids=["users", "indices", "trials"])
    def test_neighbours_are_uncorrelated(self, axis: int) -> None:
        sample = draw("normal")
        pairs = np.moveaxis(sample, axis, 0)
        product = pairs[1:] * pairs[:-1]
        assert abs(product.mean()) < ERRORS / math.sqrt(product.size)

    def test_purposes_are_uncorrelated(self) -> None:
        samples = [draw("normal", purpose).ravel() for purpose in Purpose]
        correlations = np.corrcoef(samples)[np.triu_indices(len(Purpose), 1)]
        # 28 pairs: five errors for each make 2e-5 for all.
        assert np.abs(correlations).max() < 5 / math.sqrt(N)


class _Fixed:
    """A source whose words are known."""

    def __init__(self, pair: tuple[jax.Array, jax.Array]) -> None:
        self._pair = pair

    def words(self, *address: object) -> tuple[jax.Array, jax.Array]:
        return self._pair
