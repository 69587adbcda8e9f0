"""Raw joins: 16 Mi build rows with 64 Mi probe rows of (8-byte key, 8-byte payload), keys sparse over 63 bits, sums
of both payloads. Hit rate, duplicates per build key and the Zipf exponent of the probe side vary."""
import numpy as np
import pyarrow as pa

from dataset import cached
from question import Question, Suite

ENGINES = ["morseld", "duckdb", "clickhouse", "polars", "datafusion"]
MIX = np.uint64(0xD6E8FEB86659FD93)


def sparse(index):
    """A bijection on 64 bits, its top bit cut: different indices below 2^48 give different keys but for chance."""
    x = index.astype(np.uint64)
    for _ in range(2):
        x ^= x >> np.uint64(32)
        x *= MIX
    x ^= x >> np.uint64(32)
    return (x >> np.uint64(1)).astype(np.int64)


def zipf(random, exponent, count, rows):
    """Ranks 0..count-1 with weight 1/(rank+1)^exponent, by inversion of the integral (exact enough for a load)."""
    u = random.random(rows)
    if exponent == 0:
        return (u * count).astype(np.int64)
    if exponent == 1:
        ranks = np.exp(u * np.log(count + 1)) - 1
    else:
        top = (count + 1) ** (1 - exponent)
        ranks = (1 + u * (top - 1)) ** (1 / (1 - exponent)) - 1
    return np.minimum(ranks.astype(np.int64), count - 1)


def build_side(count, duplicates):
    random = np.random.default_rng(110)
    return pa.table({"k": sparse(random.permutation(count) // duplicates), "p": random.integers(0, 1 << 30, count)})


def probe_side(count, rows, exponent, hits, duplicates):
    random = np.random.default_rng(111)
    keys = max(count // duplicates, 1)
    shuffled = random.permutation(keys)
    index = shuffled[zipf(random, exponent, keys, rows)]
    if hits < 1:
        index = np.where(random.random(rows) < hits, index, index + keys)
    return pa.table({"k": sparse(index), "q": random.integers(0, 1 << 30, rows)})


def suite(folder, scale=1.0, exponents=(0, 1.0, 1.5), hit_rates=(1.0, 0.5, 0.05), duplicates=(1,), **_):
    build, probe = int((16 << 20) * scale), int((64 << 20) * scale)
    tables, questions = {}, []
    shapes = [(e, h, d) for d in duplicates for e in exponents for h in hit_rates]
    for d in duplicates:
        tables[f"r{d}"] = cached(folder, f"micro_r_{build}_{d}", lambda d=d: build_side(build, d))
    for e, h, d in shapes:
        name = f"s_{str(e).replace('.', '')}_{int(h * 100)}_{d}"
        tables[name] = cached(folder, f"micro_{name}_{probe}_{build}", lambda e=e, h=h, d=d: probe_side(build, probe, e, h, d))
        def asked(t, name=name, d=d):
            import polars as pl
            both = t[name].join(t[f"r{d}"], on="k", how="inner")
            return both.select(pl.len().alias("n"), pl.col("p").sum(), pl.col("q").sum())
        questions.append(Question(f"z{e}h{int(h * 100)}d{d}", f"Zipf {e}, hit rate {h:.0%}, {d} per key",
                                  f"SELECT count(*) AS n, sum(r{d}.p) AS p, sum({name}.q) AS q FROM {name} JOIN r{d} ON {name}.k = r{d}.k",
                                  {"polars": asked}, {name: ["k", "q"], f"r{d}": ["k", "p"]}))
    return Suite(f"raw join, {build:,} with {probe:,} rows", tables, questions, ENGINES)
