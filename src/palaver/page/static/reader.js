// The page's reader: threads are unpacked only when they are opened.

const PAGE = 60; // threads or hits added to the list at a time
const MUCH = 40; // percent of a class for its filter to show a message

const chunks = new Map();
const threads = data.threads.of;

function chunk(number) {
  if (!chunks.has(number)) {
    chunks.set(number, JSON.parse(document.getElementById("threads-" + number).textContent));
  }
  return chunks.get(number);
}

// The first message of a thread that has a text.
function firstWords(thread) {
  for (let place = 0; place < threads[thread][2]; place++) {
    const { text } = message(thread, place);
    if (text.trim()) return text;
  }
  return "(no text)";
}

function listItem(thread, place, needle) {
  const m = message(thread, place);
  let snippet = needle || place ? m.text : firstWords(thread);
  if (needle) {
    const hit = snippet.toLowerCase().indexOf(needle);
    if (hit > 40) snippet = "…" + snippet.slice(hit - 30);
  }
  const text = make("span", { class: "snippet", dir: "auto" });
  snippet = snippet.slice(0, 160);
  put(text, snippet, 0, snippet.length, places(snippet, needle));
  const n = threads[thread][3];
  const facts = (m.speaker == null ? "" : m.speaker + " · ") + n + (n === 1 ? " message" : " messages") + (m.time == null ? "" : " · " + day(m.time).slice(0, 10));
  const title = data.threads.titles[thread];
  const named = title.startsWith("Thread ") ? [] : [make("b", { class: "title", dir: "auto" }, title)];
  const button = make("button", { type: "button", "data-thread": thread }, ...named, text, make("small", {}, make("bdi", {}, facts)));
  button.addEventListener("click", () => openThread(thread, needle || place ? place : null, needle));
  return make("li", {}, button);
}

// All [thread, message] that match; without a search, the first message of each thread.
function find(needle, only) {
  if (!needle && only === "") return threads.map((_, thread) => [thread, 0]);
  const rank = only === "" ? -1 : Number(only);
  const hits = [];
  for (let thread = 0; thread < threads.length; thread++) {
    for (let place = 0; place < threads[thread][2]; place++) {
      const m = message(thread, place);
      if (rank >= 0) {
        const bar = unpack(m.bar);
        const at = bar.findIndex((value, i) => i % 2 === 0 && value === rank);
        if (at < 0 || bar[at + 1] < MUCH) continue;
      }
      if (needle && !m.text.toLowerCase().includes(needle) && !(m.speaker || "").toLowerCase().includes(needle)) continue;
      hits.push([thread, place]);
    }
  }
  return hits;
}

function showList() {
  const needle = $("#search").value.trim().toLowerCase();
  const only = $("#only").value;
  const hits = find(needle, only);
  const list = $("#threads");
  const more = $("#more-threads");
  const asked = needle || only !== "";
  $("#found").textContent = asked && !hits.length ? "No messages match." : hits.length.toLocaleString("en") + (asked ? (hits.length === 1 ? " message" : " messages") : " " + data.wording.unit + (hits.length === 1 ? "" : "s"));
  list.replaceChildren();
  const grow = () => {
    const start = list.children.length;
    list.append(...hits.slice(start, start + PAGE).map(([thread, place]) => listItem(thread, place, needle)));
    more.hidden = list.children.length >= hits.length;
  };
  more.onclick = grow;
  grow();
}

function startReader() {
  let timer = 0;
  $("#search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(showList, 150);
  });
  $("#only").addEventListener("change", showList);
  if ($("#show-topics")) $("#show-topics").addEventListener("change", (event) => $("#thread").classList.toggle("with-topics", event.target.checked));
  $("#letters").addEventListener("change", (event) => $("#thread").classList.toggle("show-letters", event.target.checked));
  for (const button of all(".jump")) {
    button.addEventListener("click", () => openThread(Number(button.dataset.thread), Number(button.dataset.message), ""));
  }
  // The list is filled when the reader comes near the screen.
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      watcher.disconnect();
      showList();
    }
  }, { rootMargin: "600px" });
  watcher.observe($("#reader"));
}
