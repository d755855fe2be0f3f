"""(seed, what, number) -> seeds and generators.

Nothing is drawn from one stream: what trial j does is a function of the seed, the kind of change
and j, so it depends neither on the order of trials nor on which others are asked for.
"""

from functools import lru_cache

import numpy as np

from holdfast._machine.hash import combine_arrays, purpose_key

__all__ = ["keyed_generator", "keyed_seed", "repeat_seeds"]

_key_of_purpose = lru_cache(maxsize=256)(purpose_key)


def keyed_seed(seed: int, what: str, *numbers: int) -> int:
    """Seed for a clusterer: 32 bits, the range that scikit-learn accepts."""
    return _key(seed, what, numbers) >> 32


def repeat_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Seeds of the fits of the unperturbed rows."""
    return tuple(keyed_seed(seed, "repeat", repeat) for repeat in range(count))


def keyed_generator(seed: int, what: str, *numbers: int) -> np.random.Generator:
    """Build a generator for one purpose, such as one trial of one kind of change."""
    return np.random.Generator(np.random.Philox(key=_key(seed, what, numbers)))


def _key(seed: int, what: str, numbers: tuple[int, ...]) -> int:
    key = np.array([_key_of_purpose(seed, f"stability: {what}")])
    for number in numbers:
        key = combine_arrays(key, np.array([number], dtype=np.uint64))
    return int(key[0])
