"""What survives a new fit: ``python -m benchmarks.refits [FILE]``.

A model of acts is fitted to the messages of a file, or to the built-in sample; then somebody
decides something, the run is fitted again with it, and the old acts look for their counterparts
among the new ones. Three users: one names nothing, one names every act, and one merges the two
largest acts and names all that are left.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import palaver as pv
from palaver.curation import Step
from palaver.models import Model
from palaver.models.curated import apply_curation, curation_of
from palaver.models.curated.refitting import guidance
from palaver.models.curated.versions import compare_versions

_THREADS = 400
USERS = ("nothing", "names", "merges")


def decided(model: Model, user: str) -> Model:
    """Return a model as one of the users curated it."""
    n_acts = len(model.class_shares_)
    if user == "nothing":
        return model
    first, second = (int(k) for k in model.class_shares_.argsort()[::-1][:2])
    merged = user == "merges"
    actions: list[dict[str, Any]] = [{"do": "merge", "classes": [first, second]}] * merged
    actions += [
        {"do": "name", "class": k, "name": f"what people call {k}"}
        for k in range(n_acts)
        if not (merged and k == second)
    ]
    return apply_curation(model, curation_of(model).after(Step(tuple(actions))))


def again(model: Model, corpus: pv.Corpus) -> dict[str, Any]:
    """Fit again with what was decided; return how much is as it was."""
    guide = guidance(model, corpus)
    fresh = guide.model.fit(corpus, guide.labels)  # type: ignore[call-arg]
    found = compare_versions(model, fresh, corpus).content
    old = [row for row in found["classes"] if row["old"] is not None]
    return {
        "acts": len(old),
        "with_counterpart": sum(row["new"] is not None for row in old),
        "without": [[row["old"], round(row["before"], 4)] for row in old if row["new"] is None],
        "messages_that_stayed": found["same"],
        "kappa": found["kappa"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="default: the built-in sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--users", nargs="+", choices=USERS, default=USERS)
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()
    corpus = pv.read(arguments.file) if arguments.file else pv.sample(_THREADS)
    model = pv.Acts(random_state=arguments.seed, n_jobs=arguments.n_jobs).fit(corpus)
    found = {user: again(decided(model, user), corpus) for user in arguments.users}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
