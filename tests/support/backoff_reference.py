"""Backoff models the slow way: dictionaries and definitions, nothing shared with the library."""

from collections import Counter, defaultdict

FALLBACK = {1: 0.5, 2: 1.0, 3: 1.5}


def discounts(counts, kind):
    """Return the discount of each count from one to three, by Chen & Goodman's formulas."""
    n = Counter(counts)
    if kind == "kneser-ney":
        value = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else 0.5
        return dict.fromkeys((1, 2, 3), value)
    if not all(n[i] for i in (1, 2, 3, 4)):
        return FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    found = {i: i - (i + 1) * y * n[i + 1] / n[i] for i in (1, 2, 3)}
    return found if all(0 < found[i] <= i for i in found) else FALLBACK


class Reference:
    """A model over events (word, context) with contexts as tuples; None does not exist.

    ``chains`` are the ways from all parents to none, each a list of kept sets; ``sources`` say
    where each kept set takes its counts from.
    """

    def __init__(self, events, vocabulary, edges, sources, *, discount, combine, interpolate,
                 cutoffs, types, weights):  # fmt: skip
        self.vocabulary, self.edges = vocabulary, edges
        self.discount, self.combine = discount, combine
        self.interpolate, self.weights = interpolate, weights
        self.tables = {}
        counted = {}
        for kept in edges:  # from the top
            counted[kept] = self._count(events, kept, sources.get(kept), counted, types)
        for kept in edges:
            cutoff = cutoffs[min(len(kept), len(cutoffs) - 1)]
            by_context = defaultdict(dict)
            for (context, word), count in counted[kept].items():
                by_context[context][word] = count
            self.tables[kept] = (by_context, discounts(counted[kept].values(), discount), cutoff)

    @staticmethod
    def _count(events, kept, source, counted, types):
        def part(context, names):
            return tuple(context[n] if n in names else None for n in range(len(context)))

        found = Counter()
        if source is None:
            for word, context in events:
                if all(context[n] is not None for n in kept):
                    found[part(context, kept), word] += 1
            return found
        as_types = any(types[n] for n in set(source) - set(kept))
        for (context, word), count in counted[source].items():
            found[part(context, kept), word] += 1 if as_types else count
        for word, context in events:
            here = all(context[n] is not None for n in kept)
            if here and not all(context[n] is not None for n in source):
                found[part(context, kept), word] += 1
        return found

    def row(self, kept, context):
        """Return the probability of every word."""
        table, discount, cutoff = self.tables[kept]
        here = tuple(context[n] if n in kept else None for n in range(len(context)))
        exists = all(context[n] is not None for n in kept)
        lower = self.lower(kept, context)
        norm = sum(lower.values())
        counts = table.get(here) if exists else None
        if not counts:
            return {w: p / norm for w, p in lower.items()}
        total, kinds = sum(counts.values()), len(counts)
        shares = {}
        for word, count in counts.items():
            if count > cutoff:
                if self.discount == "witten-bell":
                    shares[word] = count / (total + kinds)
                else:
                    shares[word] = (count - discount[min(count, 3)]) / total
        left = 1 - sum(shares.values())
        if self.interpolate:
            return {w: shares.get(w, 0) + left * p / norm for w, p in lower.items()}
        unseen = sum(p for w, p in lower.items() if w not in shares)
        if len(shares) == len(lower):
            return {w: p / (1 - left) for w, p in shares.items()}
        return {w: shares[w] if w in shares else left * p / unseen for w, p in lower.items()}

    def lower(self, kept, context):
        """Return what the nodes below say."""
        below = self.edges[kept]
        if not below:
            return {w: 1 / len(self.vocabulary) for w in self.vocabulary}
        rows = [self.row(other, context) for other in below]
        weights = self._weights(kept, below, context)
        found = {}
        for w in self.vocabulary:
            values = [row[w] for row in rows]
            if self.combine == "max":
                found[w] = max(values)
            elif self.combine == "product" and len(values) > 1:
                found[w] = values[0] * values[1] if len(values) == 2 else _product(values)
            else:
                found[w] = sum(a * b for a, b in zip(weights, values, strict=True))
        return found

    def _weights(self, kept, below, context):
        raw = [1.0] * len(below)
        if self.combine == "weighted" and len(below) > 1:
            raw = [self.weights[next(iter(set(kept) - set(other)))] for other in below]
        if self.combine == "count-weighted" and len(below) > 1:
            raw = []
            for other in below:
                here = tuple(context[n] if n in other else None for n in range(len(context)))
                exists = all(context[n] is not None for n in other)
                raw.append(sum(self.tables[other][0].get(here, {}).values()) if exists else 0)
            if not sum(raw):
                raw = [1.0] * len(below)
        return [value / sum(raw) for value in raw]


def _product(values):
    result = 1.0
    for value in values:
        result *= value
    return result
