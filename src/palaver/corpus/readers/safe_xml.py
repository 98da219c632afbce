"""XML as a stream; files that declare entities are refused, so that none can unpack to more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from palaver.corpus.readers.records import Readable
from palaver.errors import FormatError

_CHUNK = 1 << 18
#: Tag, its attributes (None at its end), and the text since the tag before.
Event = tuple[str, dict[str, str] | None, str]


def xml_events(stream: Readable, name: str) -> Iterator[Event]:
    """Yield an event for every tag.

    Raises
    ------
    FormatError
        The file declares entities, or breaks; everything before that was yielded.
    """
    found: list[Event] = []
    words: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        found.append((tag, attributes, "".join(words)))
        words.clear()

    def end(tag: str) -> None:
        found.append((tag, None, "".join(words)))
        words.clear()

    def refuse(*_: Any) -> None:
        raise FormatError(f"{name}: declares XML entities, as no export does; do not trust it")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words.append
    parser.EntityDeclHandler = parser.StartDoctypeDeclHandler = refuse
    while True:
        data = stream.read(_CHUNK)
        try:
            parser.Parse(data, not data)
        except (expat.ExpatError, LookupError, ValueError) as error:  # an encoding that is none
            yield from found
            raise FormatError(f"{name}: not valid XML ({error})") from error
        yield from found
        found.clear()
        if not data:
            return
