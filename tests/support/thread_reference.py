"""Features of candidates, written down one by one from texts, names and times."""

from __future__ import annotations

import itertools
import math
import statistics

from support.words import tokenize

COMMON, NAME_SHARE, RUN_SHARE = 0.1, 0.05, 0.01


class Reference:
    """Messages as dictionaries: speaker, text, seconds, conversation; in order, by conversation."""

    def __init__(self, messages, is_ordered=True, window=100):
        self.messages, self.is_ordered, self.window = messages, is_ordered, window
        self.n = len(messages)
        for message in messages:
            message["words"] = tokenize(message["text"])
        self.spread = {}
        for message in messages:
            for word in set(message["words"]):
                self.spread[word] = self.spread.get(word, 0) + 1
        self.names = self.find_names()
        self.mentions = [self.find_mentions(i) for i in range(self.n)]
        self.runs = self.find_runs()
        gaps = [
            b["seconds"] - a["seconds"]
            for a, b in itertools.pairwise(messages)
            if a["conversation"] == b["conversation"] and b["seconds"] > a["seconds"]
        ]
        self.gap = statistics.median(gaps) if gaps else None

    def conversation(self, i):
        name = self.messages[i]["conversation"]
        return [k for k in range(self.n) if self.messages[k]["conversation"] == name]

    def candidates(self, i):
        inside = self.conversation(i)
        near = [j for j in inside if j != i and (j < i or not self.is_ordered)]
        near = [j for j in near if abs(i - j) <= self.window]
        first = [] if inside[0] in near or inside[0] >= i else [inside[0]]
        return [*first, *near, -1]

    def find_names(self):
        owners = {}
        for speaker in {m["speaker"] for m in self.messages} - {None}:
            for word in set(tokenize(speaker)):
                owners.setdefault(word, []).append(speaker)
        limit = max(NAME_SHARE * self.n, 5)
        return {
            word: speakers[0]
            for word, speakers in owners.items()
            if len(speakers) == 1 and len(word) >= 3 and any(c.isalpha() for c in word)
            and self.spread.get(word, 0) <= limit
        }  # fmt: skip

    def find_mentions(self, i):
        """Return whom a message names, and whom it addresses."""
        found, addressed, at_start = [], None, True
        for word in self.messages[i]["words"]:
            person = self.names.get(word)
            if person is not None and person != self.messages[i]["speaker"]:
                if at_start:
                    addressed = person
                if person not in found:
                    found.append(person)
            if any(c.isalnum() for c in word):
                at_start = False
        return found, addressed

    def find_runs(self):
        counts = {}
        runs = []
        for message in self.messages:
            words = message["words"]
            runs.append([tuple(words[k : k + 3]) for k in range(len(words) - 2)])
            for run in runs[-1]:
                counts[run] = counts.get(run, 0) + 1
        limit = max(RUN_SHARE * self.n, 3)
        return [{r for r in own if 1 < counts[r] <= limit} for own in runs]

    def values(self, i):
        """Return tf-idf of the words that are neither unique nor everywhere."""
        words = self.messages[i]["words"]
        return {
            word: math.log(1 + words.count(word)) * math.log(self.n / self.spread[word])
            for word in words
            if 1 < self.spread[word] <= max(COMMON * self.n, 3)
        }

    def similarity(self, i, j):
        """Return the product of tf-idf values and the cosine."""
        mine, theirs = self.values(i), self.values(j)
        product = sum(value * theirs.get(word, 0.0) for word, value in mine.items())
        norms = [math.sqrt(sum(v * v for v in side.values())) for side in (mine, theirs)]
        return product, product / (norms[0] * norms[1]) if min(norms) > 0 else 0.0

    def handles(self, i):
        words = self.messages[i]["words"]
        return [b for a, b in itertools.pairwise(words) if a.endswith("@")]

    def own(self, i, j):
        """Whether two messages have the same, known speaker."""
        speaker = self.messages[i]["speaker"]
        return speaker is not None and speaker == self.messages[j]["speaker"]

    def turn(self, i):
        """Return the first message of a turn."""
        inside = self.conversation(i)
        while i > inside[0] and self.own(i, i - 1):
            i -= 1
        return i

    def turns_between(self, j, i):
        return sum(self.turn(k) == k for k in range(j + 1, i + 1))

    def asks(self, i):
        return any("?" in word for word in self.messages[i]["words"])

    def log_gap(self, j, i):
        gap = self.messages[i]["seconds"] - self.messages[j]["seconds"]
        return math.log1p(gap / self.gap) if self.gap and gap > 0 else 0.0

    def partner(self, i):
        """Return whom a speaker last named, or was named by, before a message."""
        me, partner = self.messages[i]["speaker"], None
        for k in self.conversation(i):
            if k >= i or me is None:
                break
            speaker = self.messages[k]["speaker"]
            named, addressed = self.mentions[k]
            if speaker is None:
                continue
            if speaker == me and named:
                partner = addressed or named[-1]
            elif me in named:
                partner = speaker
        return partner

    def features(self, i, j):
        """Return features by name; those that are zero may be missing."""
        return self.start(i) if j < 0 else {**self.free(i, j), **self.ordered(i, j)}

    def free(self, i, j):
        product, cosine = self.similarity(i, j)
        most = max([self.similarity(i, k)[1] for k in self.candidates(i) if k >= 0])
        named, addressed = self.mentions[i]
        theirs, _ = self.mentions[j]
        me, them = self.messages[i]["speaker"], self.messages[j]["speaker"]
        same = self.own(i, j)
        mine, other = self.handles(i), self.handles(j)
        mentioned = bool(named) and them in named
        mentions_me = me is not None and me in theirs
        mentions_another = me is not None and bool(theirs) and not mentions_me
        new_handles = len(set(mine) - set(other))
        return {
            "first": j == self.conversation(i)[0],
            "first, same speaker": j == self.conversation(i)[0] and same,
            "same speaker": same,
            "similarity": cosine,
            "rare words": math.log1p(product),
            "nearest": cosine > 0 and abs(cosine - most) < 1e-12,
            "quoted": math.log1p(len(self.runs[i] & self.runs[j])),
            "question": self.asks(j),
            "question, no question": self.asks(j) and not self.asks(i),
            "log length": math.log1p(len(self.messages[j]["words"])),
            "mentioned": mentioned,
            "addressed": mentioned and addressed == them,
            "another mentioned": bool(named) and not mentioned,
            "same speaker, mentions": bool(named) and not mentioned and same,
            "same addressee": bool(set(named) & set(theirs)),
            "same speaker, addressee": bool(set(named) & set(theirs)) and same,
            "mentions me": mentions_me,
            "mentions another": mentions_another,
            "mutual": mentioned and mentions_me,
            "mentioned, not me": mentioned and mentions_another,
            "handles shared": len(set(mine) & set(other)) / len(set(mine)) if mine else 0.0,
            "one handle more": bool(mine) and new_handles == 1,
            "addresses the same": bool(mine) and mine[0] in other,
        }

    def ordered(self, i, j):
        if not self.is_ordered:
            return {}
        inside = self.conversation(i)
        first = inside[0]
        me, them = self.messages[i]["speaker"], self.messages[j]["speaker"]
        before = [k for k in inside if k < i and self.own(k, i)]
        newcomer = me is not None and not before
        same, distance, is_previous = self.own(i, j), math.log(i - j), i - j == 1
        named, _ = self.mentions[i]
        mentioned = bool(named) and them in named
        is_last = not any(self.own(k, j) for k in range(j + 1, i))
        last = them is not None and is_last
        calls = [k for k in inside if k < i and me is not None and me in self.mentions[k][0]]
        partner = not named and them is not None and self.partner(i) == them
        short = max(math.log1p(4) - math.log1p(len(self.messages[i]["words"])), 0.0)
        began = me is not None and me == self.messages[first]["speaker"]
        between = self.turns_between(j, i)
        return {
            "previous": is_previous,
            "second": i - j == 2,
            "third": i - j == 3,
            "log distance": distance,
            "far": max(distance - math.log(8), 0.0),
            "log time": self.log_gap(j, i),
            "first, log place": (j == first) * distance,
            "first, newcomer": j == first and newcomer,
            "asker, previous": is_previous and began,
            "same speaker, previous": is_previous and same,
            "newcomer, previous": is_previous and newcomer,
            "last of speaker": last,
            "spoken since": bool(before) and before[-1] > j,
            "after mine": bool(before) and before[-1] == j - 1,
            "mentioned, last of speaker": mentioned and last,
            "mentions me, latest": bool(calls) and calls[-1] == j,
            "partner": partner,
            "partner, latest": partner and last and not same,
            "called since": any(them in self.mentions[k][0] for k in range(j + 1, i)),
            "question, previous": is_previous and self.asks(j),
            "short, previous": is_previous * short,
            "log turns": math.log1p(between),
            "previous turn": between == 1,
            "turn's end": not same and (is_previous or self.turn(j + 1) == j + 1),
            "turn's begin": not same and self.turn(j) == j,
            "before my turn": self.turn(i) < i and j == self.turn(i) - 1,
            "same speaker, log time": same * self.log_gap(j, i),
            "mentioned, log distance": mentioned * distance,
            "same speaker, short": same * short,
            "same speaker, question": same and self.asks(j),
        }

    def start(self, i):
        others = [j for j in self.candidates(i) if j >= 0]
        found = {
            "start": 1.0,
            "start, mentions": bool(self.mentions[i][0]),
            "start, question": self.asks(i),
            "start, log length": math.log1p(len(self.messages[i]["words"])),
            "start, similarity": max([self.similarity(i, j)[1] for j in others], default=0.0),
        }
        inside = self.conversation(i)
        if not self.is_ordered or i == inside[0]:
            return found
        before = [k for k in inside if k < i and self.own(k, i)]
        return {
            **found,
            "start, newcomer": self.messages[i]["speaker"] is not None and not before,
            "start, log time": self.log_gap(i - 1, i),
            "start, log own distance": math.log(i - before[-1]) if before else 0.0,
            "start, own previous": bool(before) and before[-1] == i - 1,
        }
