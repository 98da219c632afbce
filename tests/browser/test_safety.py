"""Texts, speakers, labels, words and names of attackers show as text and do nothing."""

from support.pages import ATTACKS

from palaver.page.text import visible


def test_nothing_runs_and_everything_shows_as_text(visit, hostile_path):
    page = visit(hostile_path)
    assert page.evaluate("window.hacked") is None
    assert page.title().startswith("</title><script>")
    page.locator("#reader-title").scroll_into_view_if_needed()
    shown = []
    page.locator("#threads button").first.wait_for()
    for button in page.locator("#threads button").all():
        button.click()
        page.locator("#thread p").first.hover()
        shown += page.locator("#thread .message p").all_text_contents()
    for attack in ATTACKS:
        start = visible(attack, 24)
        assert any(start in text for text in shown), start
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    made = page.evaluate("""() => document.querySelectorAll(
        "main :is(script, img, iframe, style, [href^=javascript], [onerror], [onload])"
    ).length""")
    assert made == 0
    links = page.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1300


def test_names_typed_or_in_the_address_are_text(visit, hostile_path):
    page = visit(hostile_path)
    attack = "<img src=x onerror=window.hacked=20>"
    page.locator('[data-rename="0"]').fill(attack)
    assert page.locator("#name-0").inner_text() == attack
    again = visit(hostile_path, "#" + page.url.partition("#")[2])
    assert again.locator("#name-0").inner_text() == attack
    assert again.evaluate("window.hacked") is None


def test_policy_forbids_what_the_page_never_does(visit, browser, hostile_path):
    """Injected code and requests are blocked by the browser, too."""
    context = browser.new_context()
    page = context.new_page()
    failures = []
    page.on("requestfailed", lambda request: failures.append(request.failure))
    page.goto(hostile_path.as_uri())
    page.wait_for_selector("html[data-ready]")
    blocked = page.evaluate("""async () => {
        const found = [];
        document.addEventListener("securitypolicyviolation", e => found.push(e.effectiveDirective));
        const attempt = (work) => { try { work(); } catch { found.push("thrown"); } };
        const image = document.createElement("img"); image.src = "http://127.0.0.1:9/x.png";
        document.body.append(image);
        document.createElement("img").src = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
        attempt(() => { document.body.innerHTML = "<b>x</b>"; });
        attempt(() => {
            const script = document.createElement("script");
            script.text = "window.hacked = 30";
            document.body.append(script);
        });
        await fetch("http://127.0.0.1:9/").catch(() => {});
        await new Promise(done => setTimeout(done, 200));
        return found;
    }""")
    assert page.evaluate("window.hacked") is None
    assert {"img-src", "connect-src", "thrown"} <= set(blocked)
    assert blocked.count("img-src") == 2, "only what the page itself makes is a picture"
    assert set(failures) == {"csp"}, "the browser itself refused to ask for the picture"
    context.close()
