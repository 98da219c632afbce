"""Mail: threads, quotes, wrongly declared charsets, mbox, Maildir and single mails."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse, read_tree_or_refuse

import palaver as pv
from palaver.corpus.notes import Notes
from palaver.corpus.readers.mail_text import cut_quotes, decode_as, header_text, html_text
from palaver.errors import FormatError

LIST = Path(__file__).parents[2] / "fixtures" / "mbox" / "list.mbox"
DATA = LIST.read_bytes()
START = b"From x@example.com Tue Jan  2 10:00:00 2024\n"


def mails(*parts: str) -> pv.Corpus:
    corpus = read_or_refuse(b"".join(START + part.encode() + b"\n\n" for part in parts), "x.mbox")
    assert corpus is not None
    assert corpus.format == "mbox"
    return corpus


def test_threads() -> None:
    corpus = pv.read(LIST)
    assert corpus.format == "mbox"
    columns = ("conversation", "id", "reply_to", "speaker", "email")
    assert corpus.table.select(columns).rows() == [
        ("1@example.com", "1@example.com", None, "Ann Able", "ann@example.com"),
        ("1@example.com", "2@example.com", "1@example.com", "Bob Müller", "bob@example.com"),
        ("1@example.com", "4@example.com", "2@example.com", "Cleo C.", "cleo@example.com"),
        ("1@example.com", "5@example.com", "1@example.com", "Dee, D.", "dee@example.com"),
        ("6@example.com", "6@example.com", None, "eva@example.com", "eva@example.com"),
        ("6@example.com", "7@example.com", None, "Fay", "fay@example.com"),
    ]


def test_texts_without_quotes_and_signatures() -> None:
    assert pv.read(LIST).table["text"].to_list() == [
        "Who is coming on Friday?\nFrom nine on, at the usual place.\n\nFrom there we walk.",
        "I am, with café.\n\nAnd you?",
        "Schöne Grüße aus Graz.",
        "No headers, but a subject.\n\nDee",
        "First of two.",
        "Second of two.",
    ]


def test_times_subjects_and_notes() -> None:
    corpus = pv.read(LIST)
    times = corpus.table["time"].dt.to_string("%d %H:%M").to_list()
    assert times == ["02 09:00", "02 10:30", "02 12:00", "03 09:00", None, "03 11:00"]
    assert corpus.labels == ["subject", "email"]
    assert corpus.table["subject"][0] == "[list] Who is coming?"
    assert corpus.notes.counts == {
        "quote_cut": 4, "signature_cut": 1, "bad_time": 1, "missing_parent": 2,
    }  # fmt: skip
    assert corpus.notes.places["bad_time"] == ["line 69"]


def test_reads_gzip(tmp_path: Path) -> None:
    path = tmp_path / "2024-January.txt.gz"
    path.write_bytes(gzip.compress(DATA))
    assert pv.read(path).table.equals(pv.read(LIST).table)


def test_reads_maildir_and_eml() -> None:
    one = b"From: a@example.com\nMessage-ID: <1@x>\n\none\n"
    two = b"From: b@example.com\nMessage-ID: <2@x>\nIn-Reply-To: <1@x>\n\ntwo\n"
    for names in (("cur/1:2,S", "new/2"), ("a.eml", "b.EML")):
        corpus = read_tree_or_refuse(dict(zip(names, (one, two), strict=True)) | {"tmp/3": b"x"})
        assert corpus is not None
        assert corpus.format == "mbox"
        assert corpus.table["reply_to"].to_list() == [None, "1@x"]
    single = read_or_refuse(one, "a.eml")
    assert single is not None
    assert single.table["text"].to_list() == ["one"]


def test_sentences_that_start_with_from_do_not_split() -> None:
    body = "From 10:30 on 5 May 2001 the server\nNote: was down\n\nFrom Tuesday on it was up.\n"
    corpus = mails(f"From: a@example.com\n\n{body}")
    assert corpus.n_messages == 1
    line = "From bob Tue Jan  2 10:00:00 2024\nthis is no header"
    assert mails(f"From: a@example.com\n\n{line}").table["text"].to_list() == [line]


def test_subjects_connect_only_without_headers() -> None:
    corpus = mails(
        "Subject: Tea\nMessage-ID: <1@x>\n\na",
        "Subject: RE: tea\nMessage-ID: <2@x>\n\nb",
        "Subject: Tea\nMessage-ID: <3@x>\n\nc",
        "Subject: Re: Tea\nMessage-ID: <4@x>\nReferences: <9@y>\n\nd",
        "Subject: Re:\nMessage-ID: <5@x>\n\ne",
    )
    assert corpus.table["reply_to"].to_list() == [None, "1@x", None, None, None]
    assert corpus.n_conversations == 4


def test_a_mail_that_answers_itself_is_counted_and_starts_a_thread() -> None:
    corpus = mails(
        "Subject: Tea\nMessage-ID: <1@x>\n\na",
        "Subject: Re: Tea\nMessage-ID: <2@x>\nIn-Reply-To: <2@x>\n\nb",
        "Subject: Re: Tea\nMessage-ID: <3@x>\nReferences: <1@x> <3@x>\n\nc",
    )
    assert corpus.table.select("id", "reply_to").rows() == [
        ("1@x", None), ("3@x", "1@x"), ("2@x", None),
    ]  # fmt: skip
    assert corpus.notes.counts == {"self_parent": 1}


def test_signatures_are_counted_apart_from_quotes() -> None:
    corpus = mails(
        "Message-ID: <1@x>\n\na\n-- \nAnn",
        "Message-ID: <2@x>\n\nb\n> a",
        "Message-ID: <3@x>\n\nc\n-- \nAnn\n\nBob wrote:\n> a",
        "Message-ID: <4@x>\n\n> a\nd\n-- \nAnn",
    )
    assert corpus.table["text"].to_list() == ["a", "b", "c", "d"]
    assert corpus.notes.counts == {"signature_cut": 3, "quote_cut": 3}


def test_addresses_in_reply_to_are_no_ids() -> None:
    corpus = mails(
        "From: a@example.com\nMessage-ID: <1@x>\n\na",
        "From: b@x\nMessage-ID: <2@x>\nIn-Reply-To: mail of <a@example.com>\n\nb",
        "From: c@x\nMessage-ID: <3@x>\nIn-Reply-To: mail of <a@example.com>\n\nc",
    )
    assert corpus.n_conversations == 3


def test_mails_without_ids_and_with_the_same() -> None:
    corpus = mails(
        "Subject: a\n\na", "Subject: b\n\nb", "Message-ID: <1@x>\n\nc", "Message-ID: <1@x>\n\nd"
    )
    assert corpus.n_messages == 4
    assert corpus.table["conversation"].to_list() == ["#1", "#2", "1@x", "1@x"]
    assert corpus.notes.counts["duplicate_id"] == 1


def test_cycles_and_self_references() -> None:
    corpus = mails(
        "Message-ID: <1@x>\nReferences: <1@x>\n\na",
        "Message-ID: <2@x>\nReferences: <3@x>\n\nb",
        "Message-ID: <3@x>\nReferences: <2@x>\n\nc",
    )
    assert corpus.n_conversations == 2
    assert corpus.notes.counts == {"cyclic_parent": 1, "self_parent": 1}


def test_attachments_are_counted() -> None:
    corpus = mails(
        "Content-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: image/png\n"
        "Content-Transfer-Encoding: base64\n\nAAAA\n--q--"
    )
    assert corpus.notes.counts["media_omitted"] == 1


@pytest.mark.parametrize(
    "header",
    [
        "Content-Type: multipart/mixed; boundary*=a%00b'x'%FF",
        "Content-Type: text/plain; charset*=\"a\0b''%FF\"",
        "Content-Type: text/plain; charset=unicode_escape\n\n\\q",
        "Content-Type: text/plain; charset=zlib",
        "Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n!!\nend",
        "Date: Tue, 99 Jan 99999999999 10:00:00 +9999999999999",
        "Date: ,,,",
        "From: \"<((\\",
        "Subject: =?utf-8?b?!!!?= =?x?q?=FF?=",
    ],
)  # fmt: skip
def test_strange_headers_are_survived(header: str) -> None:
    assert mails(f"{header}\n\nbody").n_messages == 1


def test_deep_nesting_is_counted() -> None:
    parts = "".join(
        f"Content-Type: multipart/mixed; boundary={i}x\n\n--{i}x\n" for i in range(3000)
    )
    corpus = mails("Message-ID: <1@x>\n\nfine", parts + "\ntext")
    assert corpus.table["text"].to_list() == ["fine"]
    assert corpus.notes.counts == {"bad_line": 1}


def test_charsets_that_lie() -> None:
    notes = Notes()
    assert decode_as("é".encode(), "iso-8859-1", notes, "") == "é"
    assert decode_as("é".encode("cp1252"), "utf-8", notes, "") == "é"
    assert decode_as("„é“".encode("cp1252"), "iso-8859-1", notes, "") == "„é“"
    assert decode_as("привет".encode("koi8-r"), "koi8-r", notes, "") == "привет"
    assert decode_as("日本".encode("iso-2022-jp"), "ISO-2022-JP", notes, "") == "日本"
    assert notes.counts == {"decoded": 1}


def test_encoded_headers() -> None:
    def text(raw: str) -> str:
        return header_text(raw, Notes(), "")

    assert text("=?utf-8?B?w6k=?=\n =?utf-8?q?_x_=3D?= y") == "é x = y"
    assert text("=?utf-8?B?w?= =?utf-8?B?6k?=") != ""
    assert text("=?iso-8859-1?q?caf=E9?= and =?utf-8?q?th=C3=A9?=") == "café and thé"
    assert text("caf\udcc3\udca9") == "café"


def test_html_as_text() -> None:
    assert html_text("a<br>b &amp; <i>c</i> 1 < 2<p>d") == ("a\nb & c 1 < 2\nd", False)
    assert html_text("<blockquote>x<blockquote>y</blockquote></blockquote>z") == ("\nz", True)
    assert html_text("<!-- a --><script>b<p></script>c<!--") == ("c<!--", False)
    html_text("<" * 300_000)
    html_text("<!--" * 300_000)
    html_text("<a " * 300_000)


def test_cut_quotes() -> None:
    assert cut_quotes("plain\n\ntext") == ("plain\n\ntext", set())
    assert cut_quotes("a\n\nX (2001-02-03) said this:\n> b\nc") == ("a\n\nc", {"quote_cut"})
    assert cut_quotes("yes:\n> b") == ("yes:", {"quote_cut"})
    assert cut_quotes("fine\n\nFrom: A\nSent: today\nTo: B\nSubject: C\n\nold") == (
        "fine",
        {"quote_cut"},
    )
    assert cut_quotes("From: here on\nit is mine") == ("From: here on\nit is mine", set())
    assert cut_quotes("top\n\nBegin forwarded message:\n\nold") == ("top", {"quote_cut"})
    assert cut_quotes("> only quotes\n> here") == ("", {"quote_cut"})
    cut_quotes(("On 1 " * 50 + "\n") * 2000 + "> q")
    cut_quotes(" " * 2_000_000 + "\n" + "wrote " * 300_000 + ":\n> q")


def test_refuses_a_file_without_mails(tmp_path: Path) -> None:
    path = tmp_path / "x.mbox"
    path.write_bytes(b"\n\n")
    with pytest.raises(FormatError, match="no mail"):
        pv.read(path, format="mbox")


@given(mutations(DATA))
@settings(max_examples=80, deadline=None)
def test_only_palaver_errors_escape(data: bytes) -> None:
    read_or_refuse(data, "x.mbox", format="mbox")
