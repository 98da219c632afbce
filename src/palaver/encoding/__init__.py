"""ENCODE: texts become flat arrays of word numbers; nothing after this handles strings."""

from palaver.encoding.shards import Shard, VectorShard, cut, cut_sentences, cut_vectors
from palaver.encoding.tokens import Encoded, encode
from palaver.encoding.utterances import Utterances, utterance_vectors
from palaver.encoding.vectors import WordVectors
from palaver.encoding.vocabulary import Vocabulary
from palaver.encoding.word_lists import encode_sentences

__all__ = [
    "Encoded",
    "Shard",
    "Utterances",
    "VectorShard",
    "Vocabulary",
    "WordVectors",
    "cut",
    "cut_sentences",
    "cut_vectors",
    "encode",
    "encode_sentences",
    "utterance_vectors",
]
