"""The page in a browser: everything a reader can do with it."""

import json
import re
from itertools import pairwise
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from PIL import Image
from support.words import tokenize

import palaver as pv


def shown_edges(page):
    return page.locator(".act-graph.wide .edge:not(.hidden)").count()


def test_slider_hides_weak_arrows_and_says_so(visit, path):
    page = visit(path)
    page.locator("#least").fill("0")
    many = shown_edges(page)
    page.locator("#least").fill("5")
    few = shown_edges(page)
    assert 0 < few < many
    said = page.locator("#least-said").inner_text()
    assert said == "4"
    for edge in page.locator(".act-graph.wide .edge:not(.hidden)").all():
        assert float(edge.get_attribute("data-effect")) >= 4
    page.locator("#show-less").check()
    assert shown_edges(page) > few


def test_pointing_explains_in_words(visit, path):
    page = visit(path)
    page.locator("#least").fill("0")
    page.locator(".act-graph.wide .node").first.hover()
    assert re.search(r"\d+% of what people do here", page.locator("#said").inner_text())
    edge = page.locator(".act-graph.wide .edge:not(.start):not(.hidden)").last
    edge.locator(".hit").dispatch_event("pointermove", {"clientX": 300, "clientY": 300})
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert re.search(r"After “.+”, .+ is [\d.]+ times as likely as usual", tip.inner_text())


def test_example_leads_to_its_thread(visit, path):
    page = visit(path)
    quote_ = page.locator("blockquote").first
    text = quote_.locator("p").inner_text()[:60]
    quote_.locator(".jump").click()
    hit = page.locator("#thread .message.hit")
    assert hit.count() == 1
    assert text.split("\n")[0][:40] in hit.inner_text()
    assert hit.is_visible()
    assert hit.locator("mark").count() > 0
    assert page.evaluate("document.activeElement.classList.contains('hit')")
    assert "thread=" in page.url


def test_replies_are_indented_below_what_they_answer(visit, path):
    page = visit(path)
    page.locator("#reader-title").scroll_into_view_if_needed()
    page.locator("#threads button").nth(1).click()
    depths = page.locator("#thread .message").evaluate_all("all => all.map(m => +m.dataset.depth)")
    lefts = page.locator("#thread .message").evaluate_all(
        "all => all.map(m => m.getBoundingClientRect().left)"
    )
    assert depths[0] == 0
    assert all(after <= before + 1 for before, after in pairwise(depths))
    by_depth = sorted(zip(depths, lefts, strict=True))
    assert [left for _, left in by_depth] == sorted(lefts)


def test_tints_are_the_classes_of_the_model(visit, path, corpus, model):
    tokens = model.token_classes(corpus)
    order = np.argsort(-model.class_shares_, kind="stable").tolist()
    letters = {number: chr(65 + rank) for rank, number in enumerate(order)}
    page = visit(path)
    for thread in (0, 7, 23):
        page.evaluate("thread => { location.hash = 'thread=' + thread; }", thread)
        page.reload()
        page.wait_for_selector("#thread .message")
        first, end = corpus.conversation_offsets[thread : thread + 2].tolist()
        for row in range(first, end):
            own = tokens.filter((pl.col("message") == row) & pl.col("class").is_not_null())
            expected = [
                (word, letters[number]) for word, number in own.select("word", "class").rows()
            ]
            marks = page.locator(f"#m{thread}-{row - first} p mark").evaluate_all(
                "all => all.map(m => [m.textContent, m.dataset.letter])"
            )
            assert [(w, letter) for text, letter in marks for w in tokenize(text)] == expected


def test_search_finds_every_message_with_the_words(visit, path, corpus):
    page = visit(path)
    page.locator("#search").fill("THANK you")
    expected = corpus.table["text"].str.to_lowercase().str.contains("thank you", literal=True).sum()
    page.get_by_text(f"{expected} messages", exact=True).wait_for()
    page.locator("#threads button").first.click()
    pieces = page.locator("#thread .message.hit mark.found").all_text_contents()
    assert "".join(pieces).lower().startswith("thank you"[: len(pieces[0])])
    assert "thank" in "".join(pieces).lower()
    page.locator("#search").fill("no such words anywhere")
    page.get_by_text("No messages match.", exact=True).wait_for()


def test_filter_by_class(visit, path):
    page = visit(path)
    page.locator("#only").select_option("0")
    assert page.locator("#found").inner_text().endswith("messages")
    assert page.locator("#threads button").count() > 0


def test_filters_by_strength_speaker_and_date(visit, path, corpus):
    page = visit(path)
    found = page.locator("#found")

    def count():
        page.wait_for_timeout(300)
        said = found.inner_text().split()[0].replace(",", "")
        return int(said) if said.isdigit() else 0

    page.locator("#only").select_option("0")
    some = count()
    page.locator("#much").fill("90")
    few = count()
    assert 0 < few < some
    page.locator("#strongest").check()
    assert count() == few
    page.locator("#only").select_option("")
    speaker = corpus.table["speaker"].mode().sort()[0]
    page.locator("#who").fill(speaker)
    assert count() == (corpus.table["speaker"] == speaker).sum()
    page.locator("#who").fill("")
    first = corpus.table["time"].dt.date().min()
    page.locator("#until").fill(str(first))
    assert count() == (corpus.table["time"].dt.date() == first).sum()
    page.locator("#from").fill(str(corpus.table["time"].dt.date().max()))
    assert found.inner_text() == "No messages match." or count() == 0


def test_matching_messages_and_pictures_can_be_saved(visit, path, corpus):
    page = visit(path)
    speaker = corpus.table["speaker"].mode().sort()[0]
    page.locator("#who").fill(speaker)
    with page.expect_download() as download:
        page.locator("#save-messages").click()
    table = pl.read_csv(download.value.path())
    assert table["speaker"].to_list() == [speaker] * table.height
    own = corpus.table.filter(pl.col("speaker") == speaker)["text"]
    assert sorted(table["text"].str.strip_chars("'")) == sorted(own.str.strip_chars("'"))
    buttons = page.locator("main .save-picture button:visible")
    assert buttons.count() >= 6
    with page.expect_download() as download:
        buttons.filter(has_text="SVG").first.click()
    picture = download.value.path().read_text("utf-8")
    assert picture.startswith("<svg")
    assert "var(" not in picture
    assert download.value.suggested_filename.endswith(".svg")
    with page.expect_download() as download:
        buttons.filter(has_text="PNG").first.click()
    assert download.value.suggested_filename.endswith(".png")
    with Image.open(download.value.path()) as pixels:
        assert pixels.format == "PNG"
        assert pixels.width > 1000
        assert len(pixels.convert("RGB").getcolors(10**7)) > 20, "not blank"


@pytest.mark.parametrize("width", [1300, 400])
def test_bars_are_saved_with_their_names(visit, path, width):
    page = visit(path, viewport={"width": width, "height": 900})
    table = page.locator("table.groups").first
    names = table.locator("tbody th").all_inner_texts()
    pieces = table.locator(".bar > span").count()
    buttons = page.locator("table.groups + .save-picture").first.locator("button")
    with page.expect_download() as download:
        buttons.nth(0).click()
    picture = download.value.path().read_text("utf-8")
    assert download.value.suggested_filename.startswith("shares-by-")
    assert picture.count("<rect") == 1 + pieces
    assert "var(" not in picture
    assert all(f">{name}<" in picture or f">{name[:5]}" in picture for name in names)
    with page.expect_download() as download:
        buttons.nth(1).click()
    with Image.open(download.value.path()) as pixels:
        assert len(pixels.convert("RGB").getcolors(10**7)) > 20, "not blank"


def test_documents_have_a_map_a_slider_and_ranked_documents(visit, corpus, tmp_path):
    documents = corpus.separated()
    model = pv.LDA(n_classes=4, n_sweeps=30).fit(documents)
    page = visit(pv.report(model, documents, tmp_path / "d.html", predict_heldout=False))
    assert page.locator("#graph").count() == 0
    assert page.locator(".topic-map a").count() == 4
    words = page.locator('[data-words="0"]')
    before = words.inner_text()
    page.locator("#relevance").fill("100")
    assert words.inner_text() != before
    page.locator('[data-all="0"]').click()
    page.locator("#threads button").first.click()
    strongest = page.locator("#thread .bar span").first.get_attribute("title")
    assert strongest.startswith("A ")
    assert "documents" in page.locator("#found").inner_text()


def test_one_class_of_groups_with_intervals(visit, path):
    page = visit(path)
    table = page.locator("table.groups").first
    assert table.locator(".bar").first.is_visible()
    page.locator("#one").select_option("1")
    assert not table.locator(".bar").first.is_visible()
    assert re.search(r"\d+% \(.*\d+%–\d+%\)", table.locator(".one").first.inner_text())
    edges = table.locator(".interval").evaluate_all(
        "all => all.map(e => [parseFloat(e.style.left), parseFloat(e.style.width)])"
    )
    assert all(left >= 0 and left + width <= 100.01 for left, width in edges)
    page.locator("#one").select_option("")
    assert table.locator(".bar").first.is_visible()
    assert table.locator(".one").count() == 0


def test_dark_and_light(visit, path):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = visit(path), visit(path, color_scheme="dark")
    assert background(light) == "rgb(252, 252, 250)"
    assert background(dark) == "rgb(21, 23, 27)"
    light.locator("#theme").click()
    assert background(light) == background(dark)
    dark.locator("#theme").click()
    assert background(dark) == "rgb(252, 252, 250)"


def test_names_show_everywhere_stay_in_the_address_and_are_exported(visit, path, tmp_path):
    page = visit(path)
    page.locator('[data-rename="0"]').fill("asks for help")
    places = page.locator('[data-name="0"]').all_text_contents()
    assert len(places) >= 3
    assert set(places) == {"asks for help"}
    assert "asks for help" in page.locator(".act-graph.wide .node").first.text_content()
    with page.expect_download() as download:
        page.locator("#export-names").click()
    exported = tmp_path / "names.json"
    download.value.save_as(exported)
    content = json.loads(exported.read_text())
    assert list(content["names"].values()) == ["asks for help"]
    again = visit(path, "#" + page.url.partition("#")[2])
    assert again.locator("#name-0").inner_text() == "asks for help"
    page.locator('[data-rename="0"]').fill("")
    assert page.locator("#name-0").inner_text() != "asks for help"


@pytest.mark.parametrize(
    "anchor", ["#names=%7B", "#names=5", "#thread=99999", "#names=" + quote('{"0":{"a":1}}')]
)
def test_broken_addresses_do_no_harm(visit, path, anchor):
    page = visit(path, anchor)
    assert page.locator("h1").is_visible()


def test_everything_can_be_reached_by_keyboard(visit, path):
    page = visit(path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("""() => {
            const e = document.activeElement;
            return e.id || e.getAttribute('class') || e.tagName;
        }"""))  # fmt: skip
    assert {"theme", "least", "show-less", "export-names"} <= seen
    node = page.locator(".act-graph.wide .node").nth(1)
    node.focus()
    assert "of what people do here" in page.locator("#said").inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "act-B"
    page.locator("#least").focus()
    before = page.locator("#least").input_value()
    page.keyboard.press("ArrowRight")
    assert int(page.locator("#least").input_value()) == int(before) + 1


@pytest.mark.parametrize("width", [360, 400, 768, 1400, 1920])
def test_nothing_sticks_out_at_any_width(visit, path, width):
    page = visit(path, viewport={"width": width, "height": 800})
    page.locator(".jump").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator(".act-graph.wide").is_visible()
    assert wide == (width > 700)
    assert page.locator(".act-graph.tall").is_visible() != wide
    assert page.locator(".trace.narrow").is_visible() != wide
    small = page.evaluate("""() => Array.from(document.querySelectorAll(".trace .tick"))
        .filter(e => e.getBoundingClientRect().width)
        .map(e => e.getBoundingClientRect().height)""")
    assert min(small) >= 9
    ends = page.locator(".top nav a").evaluate_all(
        "all => all.map(a => a.getBoundingClientRect().right)"
    )
    assert max(ends) <= width


@pytest.mark.parametrize("width", [360, 400])
def test_words_of_narrow_headers_and_labels_are_not_broken(visit, path, width):
    page = visit(path, viewport={"width": width, "height": 800})
    broken = page.evaluate("""() => {
        const found = [];
        for (const place of document.querySelectorAll("thead th, label.pair")) {
            if (!place.getClientRects().length) continue;
            for (const node of place.childNodes) {
                if (node.nodeType !== 3) continue;
                for (const word of node.textContent.matchAll(/[^ ]+/g)) {
                    const range = document.createRange();
                    range.setStart(node, word.index);
                    range.setEnd(node, word.index + word[0].length);
                    const end = place.getBoundingClientRect().right + 1;
                    const off = range.getBoundingClientRect().right > end;
                    const cut = off && !place.closest(".scroll");
                    if (range.getClientRects().length > 1 || cut) found.push(word[0]);
                }
            }
        }
        return found;
    }""")
    assert broken == []


def test_what_is_wider_than_the_screen_fades_out_until_its_end(visit, path):
    page = visit(path, viewport={"width": 300, "height": 800})
    heat = page.locator(".scroll:has(> .heat)").first
    heat.scroll_into_view_if_needed()
    faded = page.locator(".scroll.more:has(> .heat)").first
    faded.wait_for(state="attached")  # a function to wait for would be refused by the page's policy
    assert "gradient" in heat.evaluate("box => getComputedStyle(box).maskImage")
    assert page.locator(".more-note").first.is_visible()
    heat.evaluate("box => box.scrollTo(9999, 0)")
    heat.locator("xpath=self::*[not(contains(concat(' ', @class, ' '), ' more '))]").wait_for(
        state="attached"
    )
    label, box = heat.locator("tbody th").first.bounding_box(), heat.bounding_box()
    assert abs(label["x"] - box["x"]) < 2  # names of rows stay in sight


def test_roles_and_names_for_those_who_listen(visit, path):
    page = visit(path)
    unnamed = page.evaluate("""() => Array.from(
        document.querySelectorAll("button, input, select, svg, [role=img], [role=link]")
    ).filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length))
     .map(e => e.outerHTML.slice(0, 80))""")
    assert unnamed == []
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(visit, path, scheme):
    page = visit(path, color_scheme=scheme)
    page.locator(".jump").first.click()
    poor = page.evaluate("""() => {
        const canvas = document.createElement("canvas").getContext(
            "2d", { willReadFrequently: true }
        );
        const rgba = (colour) => {
            canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
            const d = canvas.getImageData(0, 0, 1, 1).data;
            return [d[0], d[1], d[2], d[3] / 255];
        };
        const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
        const behind = (e) => {
            const layers = [];
            for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
            return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
        };
        const light = (c) => {
            const [r, g, b] = c.map(v => v / 255).map(
                v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
            );
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const poor = [];
        for (const e of document.querySelectorAll("main *, .top *")) {
            const texts = Array.from(e.childNodes).filter(n => n.nodeType === 3);
            const own = texts.some(n => n.textContent.trim());
            if (!own || e.closest("svg") || !e.getClientRects().length) continue;
            const back = behind(e);
            const ink = over(rgba(getComputedStyle(e).color), back);
            const [low, high] = [light(back), light(ink)].sort((a, b) => a - b);
            const ratio = (high + 0.05) / (low + 0.05);
            if (ratio < 4.5) poor.push(ratio.toFixed(2) + " " + e.outerHTML.slice(0, 90));
        }
        return poor;
    }""")
    assert poor == []


def test_prints_without_what_paper_cannot_do(visit, path):
    page = visit(path)
    page.emulate_media(media="print")
    assert not page.locator(".top").is_visible()
    assert not page.locator("#least").is_visible()
    assert page.locator(".card").first.is_visible()
    assert len(page.pdf(format="A4")) > 10_000


def test_talk_is_a_line_and_no_staircase(visit, model, tmp_path):
    """Where everybody answers the previous message, long conversations are not indented."""
    table = pv.sample(30).table.drop("reply_to")
    lengths = table.group_by("conversation", maintain_order=True).len()["len"].to_list()
    path = pv.report(
        model, pv.Corpus.from_polars(table).chained(), tmp_path / "talk.html", predict_heldout=False
    )
    long, short = lengths.index(max(lengths)), lengths.index(3)
    page = visit(path, f"#thread={long}")
    depths = page.locator("#thread .message").evaluate_all("all => all.map(m => +m.dataset.depth)")
    assert len(depths) > 8
    assert set(depths) == {0}
    assert page.get_by_text("Each message answers the one before it.").count() == 1
    page = visit(path, f"#thread={short}")
    depths = page.locator("#thread .message").evaluate_all("all => all.map(m => +m.dataset.depth)")
    assert depths == [0, 1, 2]
    assert page.get_by_text("Each message answers the one before it.").count() == 0


def test_a_persons_name_replaces_a_proposal(visit, corpus, tmp_path):
    model = pv.Acts(n_acts=4, n_sweeps=5, n_chains=2).fit(corpus, show_progress=False)
    page = visit(pv.report(model, corpus, tmp_path / "acts.html"))
    proposal = page.locator("#name-0").inner_text()
    style = "e => getComputedStyle(e).fontStyle"
    assert page.locator("#name-0").evaluate(style) == "italic"
    assert page.locator('[data-rename="0"]').input_value() == ""
    page.locator('[data-rename="0"]').fill("asks")
    assert page.locator("#name-0").evaluate(style) == "normal"
    assert page.locator('[data-proposed="0"]').is_hidden()
    assert page.locator('[data-proposed="1"]').is_visible()
    page.locator('[data-rename="0"]').fill("")
    assert page.locator("#name-0").inner_text() == proposal
    assert page.locator("#name-0").evaluate(style) == "italic"


def test_people_are_a_network_and_a_table(visit, path):
    section = visit(path, "#people").locator("#people")
    picture = section.locator("svg")
    assert picture.is_visible()
    assert 2 < picture.locator("circle").count() <= 16
    drawn = set(picture.locator("text").all_text_contents())
    listed = section.locator("tbody th").all_inner_texts()
    assert listed[0] in drawn
    assert len(drawn) > 2
    box, view = picture.bounding_box(), {"width": 1300}
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= view["width"]
