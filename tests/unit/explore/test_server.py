"""What the server answers, and to whom."""

import ast
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from support.workbench import Client, make_run, opened

import palaver as pv
from palaver.explore.question import Question
from palaver.explore.serve import listen, prepare, running


def test_a_start_loads_neither_models_nor_tables():
    code = "import sys, palaver.explore.serve; print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names = set(ast.literal_eval(loaded.stdout))
    assert not names & {"polars", "palaver.models", "palaver.corpus", "palaver.page.build"}


def test_what_is_loaded_later_answers_the_first_search(workbench):
    prepare(workbench)
    assert ("counted", Question()) in workbench.answers._said


def test_counts_are_those_of_the_texts(client, corpus, workbench):
    found = client.get("/api/search", q="thank*")
    has = corpus.table["text"].str.to_lowercase().str.contains(r"(?:^|[^\p{L}\p{N}])thank")
    assert found["messages"] == has.sum()
    assert found["threads"] == corpus.table.filter(has)["conversation"].n_unique()
    assert found["of"] == corpus.n_messages
    assert sum(count for _, count, _ in found["time"]) == has.sum()
    assert sum(total for _, _, total in found["time"]) == corpus.n_messages
    main = workbench.answers.classified.main[has.to_numpy()]
    assert found["acts"] == np.bincount(main[main >= 0], minlength=len(found["acts"])).tolist()
    speakers = next(own for own in found["groups"] if own["field"] == "speaker")
    name, count, total = speakers["values"][0]
    own = corpus.table["speaker"] == name
    assert (count, total) == ((own & has).sum(), own.sum())


def test_filters_narrow_together(client, corpus):
    speaker = corpus.table["speaker"][0]
    topic = corpus.table["topic"][0]
    found = client.get("/api/search", **{"by.speaker": speaker, "by.topic": topic, "last": 1})
    table = corpus.table.with_row_index()
    first = table["index"].is_in(corpus.conversation_offsets[:-1].tolist())
    own = (table["speaker"] == speaker) & (table["topic"] == topic) & first
    assert found["messages"] == own.sum() > 0
    lengths = np.repeat(np.diff(corpus.conversation_offsets), np.diff(corpus.conversation_offsets))
    found = client.get("/api/search", least=3, most=5)
    assert found["messages"] == ((lengths >= 3) & (lengths <= 5)).sum()
    day = str(corpus.table["time"][40])[:10]
    found = client.get("/api/search", since=day, until=day)
    assert found["messages"] == (corpus.table["time"].dt.strftime("%Y-%m-%d") == day).sum()


def test_acts_and_shares(client, workbench):
    classified = workbench.answers.classified
    number = classified.acts[1].number
    found = client.get("/api/search", act=number)
    assert found["messages"] == (classified.main == 1).sum()
    assert {hit["act"] for hit in found["hits"]} == {1}
    found = client.get("/api/search", act=number, p=0.3)
    assert found["messages"] == (classified.shares[:, 1] >= 0.3).sum()


def test_a_sequence_ends_where_nobody_answers(client, workbench):
    classified, index = workbench.answers.classified, workbench.index
    number = classified.acts[0].number
    found = client.get("/api/search", seq=f"{number} > !")
    expected = (classified.main == 0) & ~np.isin(np.arange(index.n_messages), index.parents)
    assert found["messages"] == expected.sum() > 0


def test_what_nobody_else_answers_is_what_the_verb_lists(client, workbench, corpus):
    talk = pv.ask(pv.load(workbench.run), corpus)
    found = client.get("/api/search", answered="no", last=1)
    assert found["messages"] == talk.unanswered().height > 0
    both = [client.get("/api/search", answered=word)["messages"] for word in ("yes", "no")]
    assert both[0] == (talk.answers.first >= 0).sum()
    assert sum(both) == corpus.n_messages
    assert "yes or no" in client.refused("/api/search", answered="perhaps")


def test_replies_to_somebody(client, workbench, corpus):
    pairs = pv.ask(pv.load(workbench.run), corpus).helpers()
    for helper, helped, answers in pairs.select("helper", "helped", "answers").head(3).rows():
        found = client.get("/api/search", **{"by.speaker": helper, "to": helped})
        assert found["messages"] == answers
    assert client.get("/api/search", to="nobody at all")["messages"] == 0


@pytest.mark.parametrize("sort", ["thread", "newest", "oldest", "surest"])
def test_pages_of_hits_follow_each_other(client, workbench, sort):
    first = client.get("/api/search", q="the ", sort=sort)
    rows = [hit["row"] for hit in first["hits"]]
    while len(rows) < first["messages"]:
        more = client.get("/api/hits", q="the ", sort=sort, start=len(rows))["hits"]
        assert more
        rows += [hit["row"] for hit in more]
    assert len(set(rows)) == len(rows) == first["messages"]
    index, strength = workbench.index, workbench.answers.classified.strength
    keys = {"thread": np.array(rows), "newest": -index.time[rows], "oldest": index.time[rows],
            "surest": -strength[rows]}  # fmt: skip
    assert (np.diff(keys[sort]) >= 0).all()


def test_a_thread_as_the_reader_wants_it(client, corpus):
    number = int(np.argmax(np.diff(corpus.conversation_offsets)))
    found = client.get("/api/thread", thread=number, q="thank")
    start, end = corpus.conversation_offsets[number : number + 2]
    assert found["t"] == corpus.table["text"][int(start) : int(end)].to_list()
    parents = corpus.parents[start:end]
    assert found["p"] == [p - start if p >= 0 else -1 for p in parents.tolist()]
    assert found["total"] == end - start
    speakers = [found["speakers"][code] for code in found["s"]]
    assert speakers == corpus.table["speaker"][int(start) : int(end)].to_list()
    assert all(found["r"])  # every sentence has an act
    rebuilt = client.get("/api/thread", thread=number, rebuilt=1)["q"]
    assert len(rebuilt) == end - start
    assert all(-1 <= parent < i for i, parent in enumerate(rebuilt))


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        ("/api/search", {"q": "?!"}, "only words"),
        ("/api/search", {"act": "x"}, "act must be a number"),
        ("/api/search", {"act": "99"}, "no act 99"),
        ("/api/search", {"p": "nan"}, "out of range"),
        ("/api/search", {"p": "1e400"}, "out of range"),
        ("/api/search", {"since": "soon"}, "is not a day"),
        ("/api/search", {"seq": "0 >"}, "not a step"),
        ("/api/search", {"seq": "99 > 0"}, "no act 99"),
        ("/api/search", {"by.nothing": "x"}, "no column"),
        ("/api/hits", {"start": "-1"}, "start must be a number"),
        ("/api/thread", {"thread": "123456"}, "no thread"),
        ("/api/thread", {"thread": "1e9"}, "must be a number"),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_words(client, path, params, said):
    assert said in client.refused(path, **params)


def test_a_group_that_does_not_exist_has_no_messages(client):
    assert client.get("/api/search", **{"by.speaker": "nobody at all"})["messages"] == 0


def test_only_those_with_the_token_are_answered(client):
    for headers in ({"Cookie": ""}, {"Cookie": f"palaver-{client.port}=wrong"}, {"Cookie": ";;=,"}):
        status, _, body = client.ask("GET", "/api/search", **headers)
        assert status == 403
        assert b"palaver explore" in body
    assert client.ask("GET", "/?token=wrong", Cookie="")[0] == 403


def test_the_token_moves_from_the_address_into_a_cookie(client):
    path = f"//evil.example/x?q=a+b&token={client.token}"
    status, headers, _ = client.ask("GET", path, Cookie="")
    assert status == 303
    assert headers["location"] == "/evil.example/x?q=a+b"
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=lax" in headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_other_sites_and_other_names_are_refused(client, headers, status):
    assert client.ask("GET", "/api/search", **headers)[0] == status


def test_another_name_of_this_machine_is_fine(client):
    assert client.ask("GET", "/api/search", Host=f"localhost:{client.port}")[0] == 200


@pytest.mark.parametrize("path", ["/", "/search", "/static/explore.js", "/api/search", "/none"])
def test_every_answer_has_a_strict_policy(client, path):
    _, headers, _ = client.ask("GET", path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_port_in_use_is_passed_over():
    with listen(0) as taken:
        port = taken.getsockname()[1]
        with listen(port) as other:
            assert other.getsockname() == ("127.0.0.1", other.getsockname()[1])
            assert other.getsockname()[1] > port


def test_names_are_completed(client, corpus):
    name = corpus.table["speaker"][0]
    assert name in client.get("/api/names", field="speaker", typed=name[:4])


def test_an_anonymized_index_has_no_names(corpus, tmp_path):
    speaker = "OldBrassKey"
    assert corpus.table["text"].str.contains(speaker, literal=True).any()
    assert (corpus.table["speaker"] == speaker).any()
    model = pv.Acts(n_sweeps=10, n_chains=2).fit(corpus)
    run = make_run(tmp_path / "run", model, corpus, anonymize=True)
    workbench = opened(run, anonymize=True)
    with running(workbench) as address:
        client = Client(address)
        assert client.get("/api/search", q=f'"{speaker}"')["messages"] == 0
        for number in range(corpus.n_conversations):
            assert speaker not in json.dumps(client.get("/api/thread", thread=number))
        assert speaker.encode() not in client.ask("GET", "/")[2]
        assert speaker not in json.dumps(client.get("/api/search"))
    workbench.close()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_messages_in_view_are_exported(client, corpus, kind):
    status, headers, body = client.ask("GET", f"/export/messages.{kind}?q=thank*+")
    assert status == 200
    assert f"messages.{kind}" in headers["content-disposition"]
    table = pl.read_csv(body) if kind == "csv" else pl.read_parquet(body)
    assert table.height == client.get("/api/search", q="thank* ")["messages"]
    if kind == "parquet":
        own = corpus.table.filter(pl.col("id").is_in(table["id"].to_list()))
        assert table["text"].to_list() == own["text"].to_list()
        assert table["speaker"].to_list() == own["speaker"].to_list()
    assert client.ask("GET", "/export/messages.exe")[0] == 400


def test_formulas_are_not_exported_as_such():
    from palaver.explore.export import encoded

    assert b"\n'=1+1" in encoded(pl.DataFrame({"text": ["=1+1"]}), "csv")
