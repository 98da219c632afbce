"""ENCODE: texts become flat arrays of word numbers; the last place with strings."""

from palaver.encode.shards import Shard, cut
from palaver.encode.tokens import Encoded, encode
from palaver.encode.vocabulary import Vocabulary

__all__ = ["Encoded", "Shard", "Vocabulary", "cut", "encode"]
