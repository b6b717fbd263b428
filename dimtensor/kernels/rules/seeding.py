"""Templates of random draws: seeds, streams, and vectors. See `core_routines`."""

# mypy: ignore-errors
# ruff: noqa: F821, F841

import numpy as np

# -- generators ------------------------------------------------------------------------------------


def open_generator(state, words):
    """Open a generator in memory, at the position in its stream that its words encode."""
    own = np.empty((6,), dtype=np.uint64)
    for k in range(6):
        own[k] = words[k]
    done = generator_open(state, own)


def close_generator(state, after):
    """Return the words of a generator in its present state."""
    own = np.empty((6,), dtype=np.uint64)
    done = generator_close(state, own)
    for k in range(6):
        after[k] = own[k]


def seeded_words(seed, out):
    """Words of the generator that a number seeds."""
    entropy = np.empty((2,), dtype=np.int64)
    entropy[0] = seed & 4294967295
    entropy[1] = (seed // 4294967296) & 4294967295
    hashed_words(entropy, out, 2)


def child_words(words, out, at):
    """Words of an independent stream, which those of its parent and its position seed."""
    entropy = np.empty((14,), dtype=np.int64)
    for k in range(6):
        word = np.int64(words[k])
        entropy[2 * k] = word & 4294967295
        entropy[2 * k + 1] = (word // 4294967296) & 4294967295
    entropy[12] = at & 4294967295
    entropy[13] = at // 4294967296
    hashed_words(entropy, out, 14)


def hashed_words(entropy, out, n):
    """Words of the generator that n numbers of 32 bits seed."""
    seed = np.empty((4,), dtype=np.int64)
    own = np.empty((6,), dtype=np.uint64)
    seed_hash(entropy, seed, n)
    done = generator_seed(own, seed)
    for k in range(6):
        out[k] = own[k]


def seed_hash(entropy, seed, n):
    """Four words of 64 bits from n of 32, as NumPy's ``SeedSequence`` makes them.

    The algorithm is O'Neill's (2015), *Developing a seed_seq alternative*; it is stable by NEP 19.
    """
    pool = np.empty((4,), dtype=np.int64)
    mixer = 1135663077
    for i in range(4):
        value = 0
        if i < n:
            value = entropy[i]
        value = value ^ mixer
        mixer = (mixer * 2468251765) & 4294967295
        value = (value * mixer) & 4294967295
        pool[i] = value ^ (value // 65536)
    for source in range(4 + max(n - 4, 0)):
        for to in range(4):
            if source != to:
                value = 0
                if source < 4:
                    value = pool[source]
                else:
                    value = entropy[source]
                value = value ^ mixer
                mixer = (mixer * 2468251765) & 4294967295
                value = (value * mixer) & 4294967295
                value = value ^ (value // 65536)
                value = (3389127133 * pool[to] - 1232336661 * value) & 4294967295
                pool[to] = value ^ (value // 65536)
    mixer = 2337405405
    for i in range(4):
        seed[i] = 0
    for i in range(8):
        value = pool[i % 4] ^ mixer
        mixer = (mixer * 1492356589) & 4294967295
        value = (value * mixer) & 4294967295
        value = value ^ (value // 65536)
        if i % 2 == 0:
            seed[i // 2] = seed[i // 2] + value
        else:
            seed[i // 2] = seed[i // 2] + value * 4294967296


# -- vectors ---------------------------------------------------------------------------------------


def multinomial_line(state, n, pvals, out, k):
    """Draw how many of n fall into each category; 0 if the shares are invalid."""
    counts = np.empty((k,), dtype=np.int64)
    shares = np.empty((k,), dtype=np.float64)
    total = 0.0
    valid = n >= 0
    for i in range(k):
        counts[i] = 0
        shares[i] = pvals[i]
        valid = valid and shares[i] >= 0.0 and shares[i] <= 1.0
        if i < k - 1:
            total += shares[i]
    if valid and total <= 1.000000000001 and k > 0:
        done = random_multinomial(state, n, counts, shares, k)
    for i in range(k):
        out[i] = counts[i]


def multivariate_hypergeometric_line(state, colors, nsample, out, k):
    """Draw how many of each color are in a sample; 0 if there are not enough."""
    counts = np.empty((k,), dtype=np.int64)
    given = np.empty((k,), dtype=np.int64)
    total = 0
    valid = nsample >= 0
    for i in range(k):
        counts[i] = 0
        given[i] = colors[i]
        valid = valid and given[i] >= 0
        total += given[i]
    if valid and total < 1000000000 and nsample <= total:
        done = random_multivariate_hypergeometric(state, total, k, given, nsample, counts)
    for i in range(k):
        out[i] = counts[i]


def permutation_line(state, out, k):
    """Shuffle by Fisher and Yates, from the end."""
    for i in range(k):
        out[i] = i
    for i in range(k - 1):
        other = random_interval(state, k - 1 - i)
        kept = out[k - 1 - i]
        out[k - 1 - i] = out[other]
        out[other] = kept
