"""ENCODE: texts become flat arrays of word numbers; nothing after this handles strings."""

from palaver.encode.shards import Shard, VectorShard, cut, cut_sentences, cut_vectors
from palaver.encode.tokens import Encoded, encode
from palaver.encode.utterances import Utterances, utterance_vectors
from palaver.encode.vectors import WordVectors
from palaver.encode.vocabulary import Vocabulary
from palaver.encode.word_lists import encode_sentences

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
