"""A name is planted wherever a file can hold one; nothing anonymized may show it."""

import json
import re

import pytest
from support.verbs import call
from support.workbench import Client, opened

import palaver as pv
from palaver.explore.build import build
from palaver.explore.serve import running
from palaver.explore.stored import origin_of

WHO = "Zebulon42"
PHONE = "555-123-4567"
#: What nobody may find: the name in any case, its mail address, its number.
PLANTED = re.compile(r"zebulon|quuxmail|123-4567", re.IGNORECASE)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the planted file, two runs on it and a run on the anonymized texts."""
    folder = tmp_path_factory.mktemp("planted")
    file = folder / f"chat of {WHO}.jsonl"
    rows = pv.sample(16).table.to_dicts()
    with file.open("w") as out:
        for number, row in enumerate(rows):
            own = WHO if number % 3 == 0 else f"other_{number % 5}x"
            text = f"{row['text']} {WHO} thanks @{WHO} {WHO}@quuxmail.org call {PHONE}"
            message = {
                "id": f"{WHO}-{number}", "conversation": f"Talk with {WHO} {row['conversation']}",
                "speaker": own, "text": f"{WHO}: {text}\nRegards, {WHO}",
                "reply_to": None, "time": f"2024-0{1 + number % 3}-02T10:00:00Z",
                "title": f"Help for {WHO}", "kind": WHO if number % 4 == 0 else "plain",
                f"is_{WHO}": number % 2, "email": f"{WHO}@quuxmail.org",
            }  # fmt: skip
            out.write(json.dumps(message) + "\n")
    reading = ("--chain", "--where", f"kind!={WHO}0")
    sweeps = ("--sweeps", 6, "--chains", 2)
    call("fit", "m4", file, "--classes", 3, "--topics", 3, *sweeps, *reading, "--out",
         folder / f"{WHO} m4")  # fmt: skip
    call(
        "fit", "acts", file, *sweeps, *reading, "--labels", "kind", "--out", folder / f"{WHO} acts"
    )
    call("fit", "acts", file, *sweeps, "--chain", "--anonymize", "--out", folder / "hidden")
    return folder


def runs(place):
    return [place / f"{WHO} m4", place / f"{WHO} acts", place / "hidden"]


def check(what, text):
    found = PLANTED.search(text)
    assert not found, f"{what}: …{text[max(found.start() - 80, 0) : found.end() + 40]}…"


def test_the_name_is_there_to_be_found(place):
    (file,) = place.glob("chat*")
    assert len(PLANTED.findall(file.read_text())) > 100
    assert PLANTED.search(call("classes", runs(place)[0], "--words", 100))


@pytest.mark.parametrize("number", range(3))
def test_pages(place, number, tmp_path):
    run = runs(place)[number]
    call("report", run, "--anonymize", "--by", "kind", "--out", tmp_path / "page.html")
    check("page", (tmp_path / "page.html").read_text())


@pytest.mark.parametrize("number", range(3))
def test_verbs(place, number, tmp_path):
    run = runs(place)[number]
    for verb in ("shares", "examples", "helpers", "unanswered", "balance"):
        check(verb, call(verb, run, "--anonymize"))
    check("shares by kind", call("shares", run, "--by", "kind", "--anonymize", "--json"))
    check("groups", call("compare-groups", run, "--by", "kind", "--anonymize", "--json"))
    check("evaluate", call("evaluate", run, "--gold", "kind", "--anonymize"))
    check("evaluate", call("evaluate", run, "--gold", "kind", "--anonymize", "--json"))
    effects = ("effects", run, "--formula", "~ kind", "--draws", 3, "--anonymize")
    check("effects", call(*effects))
    call(*effects, "--out", tmp_path / "effects.svg")
    check("effects as a picture", (tmp_path / "effects.svg").read_text())
    call("annotate", run, tmp_path / "out.jsonl", "--anonymize")
    check("annotate", (tmp_path / "out.jsonl").read_text())


def test_people_convert_and_notebooks(place, tmp_path):
    (file,) = place.glob("chat*")
    check("people", call("people", file, "--chain", "--anonymize", "--json"))
    check("check", call("check", file, "--anonymize"))
    check("check", call("check", file, "--anonymize", "--json"))
    call("convert", file, tmp_path / "out.jsonl", "--anonymize")
    check("convert", (tmp_path / "out.jsonl").read_text())
    corpus = pv.read(file).anonymized()
    check("notebook, corpus", f"{corpus._repr_html_()} {corpus!r}")
    model = pv.load(place / "hidden")
    check("notebook, model", f"{model._repr_html_()} {model!r} {model.plot_graph()._repr_svg_()}")


@pytest.mark.parametrize("number", range(2))
def test_the_workbench(place, number):
    run = runs(place)[number]
    (file,) = place.glob("chat*")
    build(run, pv.load(run), pv.read(file).chained(), origin_of(run, str(file)), anonymize=True)
    workbench = opened(run, anonymize=True)
    with running(workbench) as address:
        client = Client(address)
        check("workbench", client.ask("GET", "/")[2].decode())
        for route in ("/api/search", "/api/hits?of=0", "/api/names?field=speaker&typed=z"):
            check(route, client.ask("GET", route)[2].decode())
        for thread in range(8):
            check("thread", json.dumps(client.get("/api/thread", thread=thread)))
    workbench.close()
