// The page's reader: threads are unpacked only when they are opened.

const PAGE = 60; // threads or hits added to the list at a time

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

// What the controls ask for.
function asked() {
  const value = (selector) => ($(selector) ? $(selector).value.trim() : "");
  const at = (text, days) => (text ? Date.parse(text + "T00:00:00Z") / 1000 + days * 86400 : null);
  return {
    needle: value("#search").toLowerCase(),
    rank: value("#only") === "" ? -1 : Number(value("#only")),
    much: Number(value("#much")),
    who: value("#who").toLowerCase(),
    topic: value("#topic") === "" ? -1 : Number(value("#topic")),
    from: at(value("#from"), 0),
    until: at(value("#until"), 1),
    strongest: $("#strongest").checked,
  };
}

function isAsked(question) {
  const { needle, rank, who, topic, from, until } = question;
  return needle !== "" || rank >= 0 || who !== "" || topic >= 0 || from != null || until != null;
}

// Percent of a class in a message.
function strength(m, rank) {
  const bar = unpack(m.bar);
  const at = bar.findIndex((value, i) => i % 2 === 0 && value === rank);
  return at < 0 ? 0 : bar[at + 1];
}

function hasTopic(m, topic) {
  const runs = unpack(m.runs);
  for (let i = 2; i < runs.length; i += 3) if (runs[i] === acts.length + topic) return true;
  return false;
}

// Whoever is named in full, else all whose names have what was typed.
function speakersOf(who) {
  const known = data.threads.speakers.map((speaker) => speaker.toLowerCase());
  return new Set(known.includes(who) ? [who] : known.filter((speaker) => speaker.includes(who)));
}

function fits(m, question, speakers) {
  const { needle, rank, much, topic, from, until } = question;
  if (rank >= 0 && strength(m, rank) < much) return false;
  if (speakers && !(m.speaker != null && speakers.has(m.speaker.toLowerCase()))) return false;
  if ((from != null || until != null) && (m.time == null || (from != null && m.time < from) || (until != null && m.time >= until))) return false;
  if (topic >= 0 && !hasTopic(m, topic)) return false;
  return !needle || m.text.toLowerCase().includes(needle) || (m.speaker || "").toLowerCase().includes(needle);
}

// All [thread, message] that match.
function find(question) {
  const speakers = question.who === "" ? null : speakersOf(question.who);
  const hits = [];
  for (let thread = 0; thread < threads.length; thread++) {
    for (let place = 0; place < threads[thread][2]; place++) {
      if (fits(message(thread, place), question, speakers)) hits.push([thread, place]);
    }
  }
  if (question.strongest && question.rank >= 0) {
    const scores = new Map(hits.map((hit) => [hit, strength(message(...hit), question.rank)]));
    hits.sort((a, b) => scores.get(b) - scores.get(a));
  }
  return hits;
}

function counted(number, noun) {
  return number.toLocaleString("en") + " " + noun + (number === 1 ? "" : "s");
}

// The messages that match, with their main class, as a table.
function saveMessages() {
  const head = [data.wording.unit, "speaker", "time", data.wording.noun, "name", "percent", "text"];
  const rows = find(asked()).map(([thread, place]) => {
    const m = message(thread, place);
    const [main, share] = unpack(m.bar);
    const act = main == null ? null : acts[main];
    return [titleOf(thread), m.speaker, day(m.time), act && act.letter, act && act.name, share, m.text];
  });
  saveCsv([head, ...rows], "messages.csv");
}

function showList() {
  const question = asked();
  const { needle } = question;
  const some = isAsked(question);
  const hits = some ? find(question) : threads.map((_, thread) => [thread, 0]);
  const list = $("#threads");
  const more = $("#more-threads");
  const noun = data.wording.text;
  $("#much-said").textContent = $("#much").value;
  $("#strength").hidden = question.rank < 0;
  $("#found").textContent = some && !hits.length ? "No " + noun + "s match." : counted(hits.length, some ? noun : data.wording.unit);
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
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(showList, 150);
  };
  for (const control of all("#reader .filters input:not([type=checkbox])")) control.addEventListener("input", soon);
  for (const control of all("#reader .filters select, #reader .filters [type=checkbox]")) control.addEventListener("change", showList);
  if ($("#speakers")) $("#speakers").append(...data.threads.speakers.slice(0, 2000).map((speaker) => make("option", { value: speaker })));
  $("#save-messages").addEventListener("click", saveMessages);
  if ($("#show-topics")) $("#show-topics").addEventListener("change", (event) => $("#thread").classList.toggle("with-topics", event.target.checked));
  $("#letters").addEventListener("change", (event) => $("#thread").classList.toggle("show-letters", event.target.checked));
  for (const button of all(".jump[data-thread]")) {
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
