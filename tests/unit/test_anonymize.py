"""A corpus is anonymized, and numbers that do not identify people stay."""

import polars as pl
import pytest

import palaver as pv
from palaver.corpus.anonymize import anonymize

SPEAKERS = ["alice", "Bob", "Anna Schmidt", "[away]nick", "3lite", "bob", None]


def corpus(texts, speakers=None, **columns):
    speakers = speakers or [SPEAKERS[i % len(SPEAKERS)] for i in range(len(texts))]
    data = {"conversation": ["c"] * len(texts), "speaker": speakers, "text": texts, **columns}
    return pv.Corpus.from_polars(pl.DataFrame(data))


def cleaned(text):
    """Return the text as a message of a corpus in which SPEAKERS are known."""
    table = corpus([*("x" for _ in SPEAKERS), text]).table
    return anonymize(table)["text"][-1]


def test_speakers_are_numbered_as_they_appear():
    table = corpus(["x"] * 5, ["zoe", "adam", None, "zoe", "Zoe"]).anonymized().table
    assert table["speaker"].to_list() == ["p1", "p2", None, "p1", "p3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to joe.b+x@example.com, please", "write to <email>, please"),
        ("<joe@mail.example.org> wrote", "<email> wrote"),
        ("joe@example.com.", "<email>."),
        ("joe@example.com@", "<email>@"),
        ("root@server:~# ls", "<email>:~# ls"),
        ("joe [at] example.com", "<email>"),
        ("für ünsal@bücher.example", "für <email>"),
        ("meet @ noon", "meet @ noon"),
        ("look at example.com", "look at example.com"),
    ],
)
def test_mail_addresses(text, expected):
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "number",
    [
        "+49 30 1234567", "+49-89-2108-1276", "+4915112345678", "+1 (555) 123-4567",
        "+44 20 7946 0958", "+44 (0)20 7946 0958", "+33 1 23 45 67 89", "+86 138 1234 5678",
        "0044 20 7946 0958", "(555) 123-4567", "(555)123-4567", "555-123-4567", "1-555-123-4567",
        "555.123.4567", "555 234 5678", "(555)\u2011123\u20114567",
        "020 7946 0958", "030 1234567", "030/1234567", "0171/1234567", "07700 900123",
        "01 23 45 67 89", "01.23.45.67.89", "06-12345678", "03-1234-5678", "0412 345 678",
        "(04) 470 2338", "98765 43210", "138 1234 5678", "030\u00a01234567", "030\u20131234567",
    ],
)  # fmt: skip
def test_phone_numbers(number):
    assert cleaned(number) == "<phone>"
    assert cleaned(f"call me: {number}.") == "call me: <phone>."
    assert cleaned(f"tel:{number}, or not") == "tel:<phone>, or not"
    assert cleaned(f"{number}, {number};{number}\n{number}") == "<phone>, <phone>;<phone>\n<phone>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call 5551234567 now", "call <phone> now"),
        ("my mobile is 01511234567", "my mobile is <phone>"),
        ("Fax: 555-1234", "Fax: <phone>"),
        ("call me at 10:30", "call me at 10:30"),
        ("call 10.0.19041", "call 10.0.19041"),
        ("text on 2024-01-02", "text on 2024-01-02"),
    ],
)
def test_bare_numbers_count_only_where_a_word_says_phone(text, expected):
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "10.0.19041", "10.0.19041.1234", "5.15.0-91-generic", "v555.123.4567", "1.2.3",
        "2024-01-02", "01/02/2024", "01.02.2024", "01-02-2024", "2019-2020", "20240102 030405",
        "12:30:45", "2024-01-02 03:04:05", "2024-01-02T03:04:05.123456",
        "0x80070005", "KB5001330", "error 0123456789", "00000005", "#555-1234", "id 1234567890",
        "1181674320", "1181674320123", "4111 1111 1111 1111", "978-3-16-148410-0", "12345-6789",
        "192.168.0.1", "255.255.255.255", "550e8400-e29b-41d4-a716-446655440000",
        "http://example.com/555-123-4567", "3.14159265358979", "1,234,567,890",
        "0 100 200 3000", "step 1 2 3 4 5", "000 111 222 333", "pages 100-200", "+1", "+10 20 30",
    ],
)  # fmt: skip
def test_what_is_no_phone_number_stays(text):
    assert cleaned(text) == text
    assert cleaned(f"see {text}, or so") == f"see {text}, or so"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice: try this", "p1: try this"),
        ("alice:try this", "p1:try this"),
        ("ALICE, try this", "p1, try this"),
        ("  alice : ok", "  p1 : ok"),
        ("Bob: ok", "p2: ok"),
        ("bob: ok", "p6: ok"),
        ("BOB: ok", "p2: ok"),
        ("alice, Bob: look", "p1, p2: look"),
        ("@alice, Bob: look", "@p1, p2: look"),
        ("Anna Schmidt: yes", "p3: yes"),
        ("[away]nick: yes", "p4: yes"),
        ("alice:", "p1:"),
        ("well, alice is here", "well, p1 is here"),
        ("carol: hello", "carol: hello"),
        ("alice 12:30", "p1 12:30"),
        ("http://alice/", "http://p1/"),
    ],
)
def test_names_at_the_start(text, expected):
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@alice hi", "@p1 hi"),
        ("hi @Bob, (@alice)!", "hi @p2, (@p1)!"),
        ("@alice's cat", "@p1's cat"),
        ("@alice.", "@p1."),
        ("@alice @alice@alice", "@p1 @<email>"),
        ("ask @carol_99 and @dan-x.", "ask @someone and @someone."),
        ("@Anna Schmidt!", "@p3!"),
        ("@anna\u00a0said", "@someone\u00a0said"),
        ("@3lite: hey", "@p5: hey"),
        ("@[away]nick hey", "@p4 hey"),
        ("@491511234567 hi", "@someone hi"),
        ("@140elect @7NewsSydney @3_x", "@someone @someone @someone"),
        ("meet @5pm, 3 @2.5kg", "meet @5pm, 3 @2.5kg"),
        ("<@U024BE7LH> hi", "<@someone> hi"),
        ("@all @here @channel @everyone", "@all @here @channel @everyone"),
        ("5 eggs @2 each", "5 eggs @2 each"),
        ("@ @@ @", "@ @@ @"),
        ("@", "@"),
    ],
)
def test_handles(text, expected):
    assert cleaned(text) == expected


def test_new_names_are_never_taken_for_old_ones():
    table = corpus(["@p2 hi", "p1: yes"], ["p2", "p1"]).anonymized().table
    assert table["speaker"].to_list() == ["p1", "p2"]
    assert table["text"].to_list() == ["@p1 hi", "p2: yes"]


def test_anonymizing_again_changes_nothing():
    once = corpus(["alice: joe@example.com", "@carol 555-123-4567", "Bob, @alice"]).anonymized()
    assert once.anonymized().table.equals(once.table)


def test_columns_of_contact_data_are_dropped():
    names = ["email", "E-Mail", "userEmail", "phone_number", "ip", "ip_address", "avatar_url"]
    table = corpus(["x"], **{name: ["v"] for name in names}, act=["y"]).anonymized().table
    assert table.columns[6:] == ["act"]


def test_columns_of_persons_get_new_names():
    table = corpus(
        ["x", "x", "x"],
        ["ann", "ben", "ann"],
        addressee=["ben", "ann", "zoe"],
        user_name=["Ann Lee", None, "Ann Lee"],
        callerId=[1632, 7, 1632],
        mentions=[["ann", "zoe"], [], None],
        to=[1, 2, 3],
        channel_name=["general", "ask @ben", "x@example.com"],
    ).anonymized().table  # fmt: skip
    assert table["addressee"].to_list() == ["p2", "p1", "other1"]
    assert table["user_name"].to_list() == ["other1", None, "other1"]
    assert table["callerId"].to_list() == ["other1", "other2", "other1"]
    assert sorted(table["mentions"].to_list()[0]) == ["other1", "p1"]
    assert table["mentions"].to_list()[1:] == [[], None]
    assert table["to"].to_list() == [1, 2, 3]
    assert table["channel_name"].to_list() == ["general", "ask @p2", "<email>"]


def test_other_columns_follow_the_rules_of_texts():
    table = corpus(["x"], ["ann"], raw=["ann: a@example.com"], tags=[["b@example.com", "x"]], n=[5])
    table = table.anonymized().table
    assert table.select("raw", "tags", "n").row(0) == ("p1: <email>", ["<email>", "x"], 5)


def test_ids_that_tell_are_numbered_and_replies_follow():
    table = pl.DataFrame(
        {
            "conversation": ["with Ann", "with Ann", "with Ann", "other"],
            "id": ["<1@host.example>", "<2@host.example>", "<3@host.example>", "<1@host.example>"],
            "reply_to": [None, "<1@host.example>", "<2@host.example>", None],
            "speaker": ["Ann", "ben", "Ann", None],
            "text": ["x"] * 4,
            "see_also": [[], ["<1@host.example>"], ["<2@host.example>", "?"], []],
        }
    )
    before = pv.Corpus.from_polars(table)
    after = before.anonymized()
    assert after.table["conversation"].to_list() == ["c1", "c1", "c1", "c2"]
    assert after.table["id"].to_list() == ["m1", "m2", "m3", "m4"]
    assert after.table["reply_to"].to_list() == [None, "m1", "m2", None]
    assert after.table["see_also"].to_list() == [[], ["m1"], ["m2", "?"], []]
    again = pv.Corpus.from_polars(after.table)
    assert again.parents.tolist() == before.parents.tolist()
    assert not again.notes.counts


def test_ids_that_tell_nothing_stay():
    table = corpus(["x", "y"], ["A", "B"], id=["swA.1", "swA.2"]).table
    assert anonymize(table).select("conversation", "id").equals(table.select("conversation", "id"))


def test_corpora_without_messages_or_speakers():
    empty = corpus([]).table
    assert anonymize(empty).equals(empty)
    table = corpus(["@a x@example.com"], [None]).anonymized().table
    assert table["text"].to_list() == ["@someone <email>"]
    assert table["speaker"].to_list() == [None]


def test_names_of_files_and_titles_do_not_survive(tmp_path):
    path = tmp_path / "Familie.txt"
    path.write_text("13/01/2024, 09:15 - Ann Miller: hello\n13/01/2024, 09:16 - Bob: hi\n")
    corpus = pv.read(path)
    assert corpus.format == "whatsapp"
    assert corpus.table["conversation"].unique().to_list() == ["Familie"]
    assert corpus.anonymized().table["conversation"].to_list() == ["c1", "c1"]
    path = tmp_path / "x.jsonl"  # a title even if the file does not say what it was
    path.write_text('{"conversation": "Chat with Annie", "speaker": "Ann Miller", "text": "x"}\n')
    assert pv.read(path).anonymized().table["conversation"].to_list() == ["c1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works.\nRegards,\nAnna", "It works.\nRegards,\np1"),
        ("It works.\n\nBest regards, Anna Schmidt\n", "It works.\n\nBest regards, p1\n"),
        ("Thanks!\n-- A. Schmidt.", "Thanks!\n-- p1."),
        ("Thanks!\n- anna", "Thanks!\n- p1"),
        ("anna", "anna"),  # a word like any other
        ("Hello\nBob", "Hello\nBob"),  # not the sender
        ("Thanks, anna and bob", "Thanks, anna and bob"),
        ("I told you,\nAnna is right", "I told you,\nAnna is right"),
        ("vitamin\nA", "vitamin\nA"),
        ("", ""),
    ],
)
def test_senders_sign_with_their_new_names(text, expected):
    table = corpus([text, "x"], ["Anna Schmidt", "Carl"]).anonymized().table
    assert table["text"][0] == expected


def test_messages_without_sender_or_text_are_signed_by_nobody():
    table = corpus(["Bye\nAnna", None, "Bye\n[away]nick"], [None, "Anna", "[away]nick"])
    assert table.anonymized().table["text"].to_list() == ["Bye\nAnna", "", "Bye\np2"]


def test_words_that_are_names_as_well_stay_if_texts_use_them_more_often():
    rows = [("wezzer", "hello"), ("linux", "hi"), ("defile", "hi")]
    said = ["hey Wezzer", "wezzer?", "I use linux", "which linux", "what is linux", "my linux"]
    rows += [("other_one", text) for text in said]
    table = pl.DataFrame({"speaker": [who for who, _ in rows], "text": [text for _, text in rows]})
    texts = pv.Corpus.from_polars(table).anonymized().table["text"].to_list()
    assert texts[3:5] == ["hey p1", "p1?"]
    assert texts[5] == "I use linux"


def test_names_of_roles_are_words():
    rows = [(f"c{i}", who, f"the agent called {i}") for i in range(12) for who in ("agent", "x_77")]
    table = pl.DataFrame(rows, ("conversation", "speaker", "text"), orient="row")
    corpus = pv.Corpus.from_polars(table).anonymized()
    assert corpus.table["text"].str.contains("the agent").all()
    assert set(corpus.table["speaker"]) == {"p1", "p2"}


def test_names_with_a_number_or_a_hyphen_at_the_end():
    said = ["hi", "see gist.github.com/wezzer2010/ab", "fr| KarameL- and karamel-x", "user12 user1"]
    table = pl.DataFrame(
        {"conversation": "c", "speaker": ["wezzer", "KarameL-", "user1", "ann"], "text": said}
    )
    found = pv.Corpus.from_polars(table).anonymized().table["text"].to_list()
    assert found == ["hi", "see gist.github.com/p1/ab", "fr| p2 and karamel-x", "user12 p3"]
