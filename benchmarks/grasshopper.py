"""GRASSHOPPER's top 100 items of a large sparse graph, against 100 PageRanks of networkx.

Run: python -m benchmarks.grasshopper

The graph is directed, with ten edges per item on average, uniform sources, targets from a power law
(quantile function u^3) and unit weights. GRASSHOPPER ranks the top 100 with a uniform prior. The
naive way to diversity is to run PageRank once per item with the ranked ones removed; here the
PageRank of networkx runs a few times on the whole graph (whose object is built beforehand), and its
time is multiplied by 100. This extrapolation is the yardstick. Both use weight 0.85; times are
processor time in one process. Memory is the peak of what Python and numpy allocate during the call.

With --million, rank one graph of a million items and ten million edges, once.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from scipy import sparse

import palaver as pv

WEIGHT, TOP, PAGERANKS, SEED = 0.85, 100, 3, 0


def make_graph(n_items: int, n_edges: int, seed: int = SEED) -> sparse.csr_matrix:
    """Return a random directed graph with a few popular items."""
    draw = np.random.default_rng(seed)
    names = draw.permutation(n_items)
    source = draw.integers(0, n_items, n_edges)
    target = names[(n_items * draw.random(n_edges) ** 3).astype(np.int64)]
    graph = sparse.csr_matrix((np.ones(n_edges), (source, target)), shape=(n_items, n_items))
    graph.data[:] = 1.0  # parallel edges count once
    return graph


def measure(graph: sparse.csr_matrix, **options: Any) -> dict[str, Any]:
    """Rank the top items twice: once for time, once for memory."""
    start, wall = time.process_time(), time.perf_counter()
    ranking = pv.grasshopper(graph, weight=WEIGHT, top=TOP, **options)
    seconds, waited = time.process_time() - start, time.perf_counter() - wall
    tracemalloc.start()
    pv.grasshopper(graph, weight=WEIGHT, top=TOP, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "n_items": graph.shape[0],
        "n_edges": graph.nnz,
        "seconds": seconds,
        "wall_seconds": waited,
        "tied": int(ranking.tied.sum()),
        "largest_error": float((ranking.errors / ranking.scores).max()),
        "peak_bytes": peak,
        "peak_bytes_an_edge": peak / graph.nnz,
    }


def pagerank_seconds(graph: sparse.csr_matrix) -> list[float]:
    """Return the processor times of single PageRanks of networkx."""
    peer = networkx.from_scipy_sparse_array(graph, create_using=networkx.DiGraph)
    seconds = []
    for _ in range(PAGERANKS):
        start = time.process_time()
        networkx.pagerank(peer, WEIGHT)
        seconds.append(time.process_time() - start)
    return seconds


def run(n_items: int, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure everything; keep the results so far after each part."""
    pv.grasshopper(make_graph(2000, 20_000), weight=WEIGHT, top=3)  # compile
    results: dict[str, Any] = {"sizes": []}
    for n in (n_items // 4, n_items // 2, n_items):
        results["sizes"].append(measure(make_graph(n, 10 * n)))
        keep(results)
    graph = make_graph(n_items, 10 * n_items)
    peer = pagerank_seconds(graph)
    extrapolated = TOP * float(np.median(peer))
    results |= {
        "networkx_seconds": peer,
        "networkx_100_extrapolated": extrapolated,
        "ratio": extrapolated / results["sizes"][-1]["seconds"],
    }
    keep(results)
    prior = np.random.default_rng(1).random(n_items)
    results["uneven_prior"] = measure(graph, prior=prior)
    keep(results)
    return results


def show(rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    print("| items | edges | prior | processor time, s | peak bytes per edge | tied |")
    print("|---|---|---|---|---|---|")
    for prior, row in rows:
        print(
            f"| {row['n_items']:,} | {row['n_edges']:,} | {prior} | {row['seconds']:.1f} | "
            f"{row['peak_bytes_an_edge']:.0f} | {row['tied']} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--million", action="store_true", help="rank one graph of a million items")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    arguments = parser.parse_args()

    def keep(results: dict[str, Any]) -> None:
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")

    if arguments.million:
        pv.grasshopper(make_graph(2000, 20_000), weight=WEIGHT, top=3)  # compile
        found = measure(make_graph(10 * arguments.items, 100 * arguments.items))
        keep(found)
        show([("uniform", found)])
        return
    results = run(arguments.items, keep)
    show([*(("uniform", row) for row in results["sizes"]), ("random", results["uneven_prior"])])
    print(
        f"\nnetworkx: {float(np.median(results['networkx_seconds'])):.2f} s per PageRank (median "
        f"of {PAGERANKS}), {results['networkx_100_extrapolated']:.0f} s for {TOP} (extrapolated); "
        f"ratio {results['ratio']:.0f}"
    )


if __name__ == "__main__":
    main()
