"""Outlines of conversations: what was asked and tried, what helped, and the thanks, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver.corpus.table import Corpus
from palaver.encoding.sentences import split_sentences
from palaver.errors import InputError, ParameterError
from palaver.params import check, whole
from palaver.ranking.similarity import tfidf

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: What a sentence of an outline does.
PARTS = ("problem", "question", "tried", "answer", "solution", "thanks", "says")

#: Acts of the inventory of names that speak for a part.
_ACTS = {
    "question": ("question", "yes/no question", "open question", "request"),
    "problem": ("complaint or problem", "statement"),
    "answer": ("instruction or suggestion", "link or reference", "yes", "no"),
    "thanks": ("thanks",),
    "none": ("greeting", "goodbye", "sign-off", "code, numbers or quote", "laughter or joke"),
}
_THANKS = (
    r"(?i)\b(?:thanks|thank you|thankyou|thx|tnx|cheers,? (?:mate|for|that)|"
    r"grateful|appreciated?)\b"
)
_EARLY = (
    r"(?i)\b(?:in advance|thanks? (?:you )?for any|any (?:help|hints?|advice|suggestions?|pointers?"
    r"|ideas?)\b.*\b(?:appreciated|welcome|grateful))|\b(?:would|will) be (?:very |much |greatly )*"
    r"(?:appreciated|grateful)|would appreciate|^any (?:\w+ ){0,3}thanks"
)
_WORKED = (
    r"(?i)\b(?:(?:it|that|this|which|now)(?:['’]s| has| is| did)? (?:now |all |just |"
    r"really |indeed )?(?:works\b|worked|working|fixed|solved|sorted|the trick)|did the trick|"
    r"problem (?:is |was )?(?:now )?(?:solved|fixed|gone)|solved (?:it|my|the|this)|fixed (?:it|my|"
    r"the)|that (?:was|is) (?:it|exactly)|works (?:fine|great|perfectly|now|like a charm))"
)
_FAILED = (
    r"(?i)\b(?:not|n['’]t|never|no longer) (?:\w+ )?(?:work|help|solve|fix)|no luck|to no avail"
)
_BACK = (
    r"(?i)\b(?:(?:is|was|came|comes) back|but (?:then|only|now|not|it)|again|like on|"
    r"for (?:a|an|\w+) (?:hours?|minutes?|days?))\b"
)
_TRIED = (
    r"(?i)\b(?:i|we)(?:['’]ve| have| had)? (?:also |already |even |then |just )*(?:tried|attempted|"
    r"searched|googled|reinstalled|restarted|checked|looked|experimented|rebooted|updated)\b"
    r"|" + _FAILED[4:]
)
_QUESTION = (
    r"(?i)(?:[^.]|\.\.)\?[\s\"'”’)\]]*$|^(?:so |and |but |ok |hi,? |hello,? )*"
    r"(?:how (?:do|can|to|would|should)|"
    r"is there (?:a|an|any)|does any(?:one|body)|can any(?:one|body)|"
    r"could (?:some|any)(?:one|body)|any ideas?\b|"
    r"i (?:wonder|was wondering|would like to know|want to know|need to know))"
)
_ADVICE = (
    r"(?i)^(?:try|use|see|check|look|you|just|perhaps|maybe|have a look|take|run|set|add|install|"
    r"remove|open|read|restart|the (?:problem|answer|solution|reason))\b|\byou (?:can|could|should|"
    r"need|might|may|must|have to|want to|ought)\b|\b(?:try|use|using|instead|because|see \?)"
)
_NOTHING = (
    r"(?i)^(?:hi|hello|hey|dear|good (?:morning|day|afternoon|evening)|regards|best(?: regards| "
    r"wishes)?|cheers|sincerely|yours|greetings)\b[^.?!]{0,30}[.,!]?$|^(?:>|#+\s)"
)
_QUOTED = (
    r"(?i)\b(?:wrote|writes|said):\s*(?:[\"'“].*)?$|^on .{5,60} wrote|^(?:error in|warning|> )|"
    r"(?:^|\s)\p{L}{2,12}> \S|"
    r"\b(?:intended recipient|confidential|this e-?mail)\b|\bhope (?:this|that|it)\b"
)
#: Words that sentences have, and code, output of programs and signatures have not.
_PLAIN = (
    r"(?i)\b(?:the|an?|is|are|was|were|to|of|in|it|this|that|you|i|we|my|your|and|or|for|with|not|"
    r"can|have|has|be|do|does|if|on|as|at|but|when|how|what|which|there|from|by|will|would|should)"
    r"\b"
)
_PLAIN_SHARE = 0.12
_WHOLE = r"[.!?…][\s\"'”’)\]]*$"
_WORD = r"\p{L}[\p{L}\p{M}\p{N}'’-]*"
_LIMITS = {"answers": whole(1), "words": whole(5)}


def outline(
    corpus: Corpus, model: Model | None = None, *, answers: int = 2, words: int = 40
) -> pl.DataFrame:
    """Return the sentences that tell the story of each conversation, in order.

    Whoever opens a conversation asks. From what they say, the outline takes the problem and the
    question, what they tried, and their thanks or that it worked. The message that they thank for
    is the solution: the one that the thanks reply to, or if that is not known, the latest one by
    somebody else before. Of other messages by other people, the most telling ones are answers.
    Within a message, the sentence is chosen by what it does and by the words that it shares with
    the conversation and the question. A conversation in which nobody asks gets its most central
    sentences.

    Parameters
    ----------
    corpus : Corpus
    model : Model, optional
        A fitted model of acts, whose acts help to choose; they are known by their names, such as
        "question" and "thanks". Without it, punctuation and (English) words decide.
    answers : int
        Most answers, including the solution.
    words : int
        Longer sentences are cut.

    Returns
    -------
    polars.DataFrame
        Columns conversation, message (row in the corpus), speaker, part (one of "problem",
        "question", "tried", "answer", "solution", "thanks", "says"), text.

    Examples
    --------
    >>> import palaver as pv
    >>> story = pv.outline(pv.sample(20))
    >>> story.columns
    ['conversation', 'message', 'speaker', 'part', 'text']
    """
    if not isinstance(corpus, Corpus):
        raise ParameterError(f"outline: takes a Corpus, got {type(corpus).__name__}")
    check("outline", _LIMITS, {"answers": answers, "words": words})
    table = _sentences(corpus)
    if not table.height:
        raise InputError("outline: the corpus contains no sentences")
    table = table.with_columns(_acts(corpus, model, table))
    table = _with_scores(table)
    chosen = _chosen(table, corpus, answers)
    cut = pl.col("text").str.split(" ")
    shown = pl.when(cut.list.len() > words).then(
        cut.list.head(words).list.join(" ") + " …"
    ).otherwise("text")  # fmt: skip
    names = corpus.table["conversation"]
    return chosen.sort("order", "position").select(
        names.gather(chosen.sort("order", "position")["message"]).alias("conversation"),
        "message", "speaker", "part", shown.alias("text"),
    )  # fmt: skip


def _sentences(corpus: Corpus) -> pl.DataFrame:
    """Return one row per sentence, with what its words and marks say."""
    lengths = np.diff(corpus.conversation_offsets)
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    first = corpus.conversation_offsets[:-1][numbers]
    speakers = corpus.table["speaker"].cast(pl.String)
    asks = np.asarray(
        (speakers == speakers.gather(first)).fill_null(False).to_numpy()
        | (first == range(len(first)))
    )
    order = np.lexsort((np.arange(len(first)), _times(corpus, first), numbers))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    table = pl.DataFrame(
        {
            "number": numbers,
            "message": np.arange(corpus.n_messages),
            "order": place,
            "opens": first == np.arange(len(first)),
            "asks": asks,
            "speaker": speakers,
            "text": pl.Series(
                [split_sentences(text) for text in corpus.table["text"]],
                dtype=pl.List(pl.String),
            ),
        }
    )
    table = table.explode("text").drop_nulls("text")
    return table.with_columns(
        pl.int_range(pl.len()).over("message").alias("position"),
        pl.len().over("message").alias("n_in_message"),
    ).with_columns(
        pl.col("text").str.count_matches(_WORD).alias("n_words"),
        _is(_QUESTION).alias("question"),
        (_is(_THANKS) & ~_is(_EARLY)).alias("thanks"),
        (_is(_WORKED) & ~_is(_FAILED) & ~_is(_BACK) & ~_is(_QUESTION)).alias("worked"),
        _is(_TRIED).alias("tried"),
        _is(_ADVICE).alias("advice"),
        (
            _is(_NOTHING)
            | _is(_QUOTED)
            | _is(_EARLY)
            | (
                pl.col("text").str.count_matches(r"[\p{L}\s]")
                < 0.75 * pl.col("text").str.len_chars()
            )
        ).alias("nothing"),
    )


def _times(corpus: Corpus, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return times that tell a story: the opening comes first, and nothing before its parent.

    Clocks of people differ, so a reply can seem to be earlier than what it replies to.
    """
    times = corpus.table["time"].cast(pl.Int64).fill_null(0).to_numpy().copy()
    opens = first == np.arange(len(first))
    earliest = np.minimum.reduceat(times, corpus.conversation_offsets[:-1]) if len(times) else times
    times[opens] = earliest
    parents = np.asarray(corpus.parents, np.int64)
    above = np.where(parents < 0, np.arange(len(parents)), parents)
    while not np.array_equal(times, later := np.maximum(times, times[above])):
        times = later
    return np.asarray(times)


def _is(pattern: str) -> pl.Expr:
    return pl.col("text").str.contains(pattern)


def _acts(corpus: Corpus, model: Model | None, table: pl.DataFrame) -> list[pl.Series]:
    """Return how likely each sentence has the acts that speak for each part, by a model."""
    if model is None:
        return [pl.Series(f"act {part}", np.zeros(table.height)) for part in _ACTS]
    names = model.summary().class_names
    if not hasattr(model, "unit_acts"):
        raise ParameterError(f"outline: needs a model of acts (Acts), got {type(model).__name__}")
    units = model.unit_acts(corpus)
    n_units = units.group_by("message").agg(n_units=pl.len())
    found = (
        table.select("message", unit=pl.col("position").cast(pl.Int64), n="n_in_message")
        .join(n_units, on="message", how="left", maintain_order="left")
        .with_columns(unit=pl.when(pl.col("n") == pl.col("n_units")).then("unit").otherwise(0))
        .join(units, on=["message", "unit"], how="left", maintain_order="left")
    )
    called = found["act"].replace_strict(names, default=None, return_dtype=pl.String)
    sure = found["probability"].fill_null(0.0)
    return [
        (called.is_in(acts).fill_null(False).cast(pl.Float64) * sure).alias(f"act {part}")
        for part, acts in _ACTS.items()
    ]


def _with_scores(table: pl.DataFrame) -> pl.DataFrame:
    """Add how central each sentence is, and how near to the question of its conversation."""
    vectors = tfidf(table["text"])
    numbers = table["number"].to_numpy()
    central = _nearness(vectors, numbers, np.ones(len(numbers)))
    asked = (table["opens"] & (table["question"] | (table["act question"] > 0.5))).to_numpy()
    near = _nearness(vectors, numbers, asked.astype(float))
    usable = (pl.col("n_words") >= 4) & ~pl.col("nothing") & (pl.col("act none") < 0.9)
    length = (pl.col("n_words").clip(4, 12) / 12).log() * 0.3 - (pl.col("n_words") > 60) * 0.5
    bare = pl.col("text").str.count_matches(_PLAIN) < _PLAIN_SHARE * pl.col("n_words")
    part = ~_is(_WHOLE) | _is(r"^[(\[][^\d]")
    return table.with_columns(
        usable.alias("usable"),
        bare.alias("bare"),
        (pl.Series(central) + 0.5 * pl.Series(near) + length - 0.6 * bare - 0.25 * part).alias(
            "worth"
        ),
    )


def _nearness(
    vectors: Any, numbers: NDArray[np.int64], counted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cosine of each row with the sum of the counted others of its group."""
    n = len(numbers)
    _, codes = np.unique(numbers, return_inverse=True)
    members = sparse.csr_matrix((counted, (codes, np.arange(n))), shape=(codes.max() + 1, n))
    sums = sparse.csr_matrix(members @ vectors)
    squares = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()[codes]
    with_all = np.asarray(vectors.multiply(sums[codes]).sum(axis=1)).ravel()
    own = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel() * counted
    left = np.maximum(squares - 2 * counted * with_all + counted * own, 1e-9)
    return np.where(left > 1e-6, (with_all - own) / np.sqrt(left), 0.0)


def _chosen(table: pl.DataFrame, corpus: Corpus, n_answers: int) -> pl.DataFrame:
    """Return the sentences of all outlines, each with its part."""
    opening = table.filter("opens")
    usable = opening.filter("usable")
    question = _best(
        usable.filter(pl.col("question") | (pl.col("act question") > 0.5)),
        pl.col("worth") + pl.col("question") + 0.5 * pl.col("act question"),
        "question",
    )
    rest = usable.join(question, on=["message", "position"], how="anti")
    rest = rest.filter(~pl.col("question") & ~pl.col("thanks"))
    asked = question["number"].implode()
    rest = rest.filter(~pl.col("bare") | ~pl.col("number").is_in(asked))
    problem = _best(rest, pl.col("worth") + 0.3 * pl.col("act problem") - 0.3 * pl.col("tried")
                    - 0.1 * (1 + pl.col("position")).log(), "problem")  # fmt: skip
    mine = table.filter(pl.col("asks") & pl.col("usable") & pl.col("tried") & ~pl.col("question"))
    mine = mine.join(pl.concat((question, problem)), on=["message", "position"], how="anti")
    tried = _best(mine.filter(~pl.col("worked") & ~pl.col("thanks")), pl.col("worth"), "tried")
    thanks = _thanks(table)
    accepted = _accepted(thanks, table, corpus)
    others = table.filter(~pl.col("asks") & pl.col("usable"))
    value = (pl.col("worth") + 0.5 * pl.col("advice") + 0.3 * pl.col("act answer")
             - 0.6 * pl.col("question"))  # fmt: skip
    replies = others.with_columns(value=value).sort("value", descending=True, maintain_order=True)
    replies = replies.group_by("message", maintain_order=True).first()
    replies = replies.join(accepted, on="number", how="left", maintain_order="left").with_columns(
        part=pl.when((pl.col("message") == pl.col("accepted")) & ~pl.col("question"))
        .then(pl.lit("solution")).otherwise(pl.lit("answer"))
    )  # fmt: skip
    solved = replies.filter(pl.col("part") == "solution")["number"].implode()
    thanks = thanks.filter(pl.col("worked") | pl.col("number").is_in(solved))
    ended = thanks.filter(pl.col("number").is_in(solved)).select("number", end="order")
    replies = replies.join(ended, on="number", how="left", maintain_order="left")
    replies = replies.filter((pl.col("order") < pl.col("end")).fill_null(True))
    replies = replies.sort(pl.col("part") == "solution", "value", descending=True,
                           maintain_order=True)  # fmt: skip
    replies = replies.group_by("number", maintain_order=True).head(n_answers)
    told = [_plain(part) for part in (problem, question, tried, replies, thanks)]
    found = pl.concat(told).unique(["message", "position"], keep="first", maintain_order=True)
    asked = found.filter(pl.col("part").is_in(["question", "problem"]))["number"]
    loose = table.filter(~pl.col("number").is_in(asked.implode()) & pl.col("usable"))
    loose = loose.join(found, on=["message", "position"], how="anti").sort(
        "worth", descending=True, maintain_order=True
    ).group_by("number", maintain_order=True).head(n_answers)  # fmt: skip
    return pl.concat((found, _plain(loose.with_columns(part=pl.lit("says")))))


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("number", "order", "message", "position", "speaker", "text", "part")


def _best(table: pl.DataFrame, worth: pl.Expr, part: str) -> pl.DataFrame:
    """Return the best row of each conversation, as a part of its outline."""
    best = table.with_columns(by=worth).sort("by", descending=True, maintain_order=True)
    best = best.group_by("number", maintain_order=True).first()
    return best.drop("by").with_columns(part=pl.lit(part))


def _thanks(table: pl.DataFrame) -> pl.DataFrame:
    """Return the sentence with which whoever asked says that it worked, else their last thanks."""
    helped = table.filter(~pl.col("asks")).group_by("number").agg(after=pl.col("order").min())
    mine = table.filter("asks").join(helped, on="number", maintain_order="left")
    mine = mine.filter(pl.col("order") > pl.col("after")).with_columns(
        gone=pl.col("thanks") | (pl.col("act thanks") > 0.5)
    )
    mine = mine.filter(pl.col("worked") | pl.col("gone")).drop("after")
    how = 2 * pl.col("worked").cast(pl.Int64) + pl.col("thanks") + pl.col("order") * 1e-9
    return _best(mine, how, "thanks")


def _accepted(thanks: pl.DataFrame, table: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Return the message that was thanked for in each conversation: number, accepted."""
    by_others = table.filter(~pl.col("asks")).select("number", "message", "order").unique()
    parents = np.asarray(corpus.parents, np.int64)[thanks["message"].to_numpy()]
    given = thanks.select("number", before="order", parent=pl.Series(parents))
    direct = given.join(
        by_others.select("number", parent="message"), on=["number", "parent"], how="semi"
    ).select("number", accepted="parent")
    latest = (
        given.join(direct, on="number", how="anti")
        .join(by_others, on="number")
        .filter(pl.col("order") < pl.col("before"))
        .sort("order")
        .group_by("number", maintain_order=True)
        .agg(accepted=pl.col("message").last())
    )
    return pl.concat((direct, latest))
