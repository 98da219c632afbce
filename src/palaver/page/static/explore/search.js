// Search: filters in the address, counts while you type, hits, and the thread of a hit.

const threads = {}; // by number: [number, 0, messages that are here, messages in all]
const chunks = new Map();
const chunk = (number) => chunks.get(number);
const titles = (data.threads.titles = {});

let state = new URLSearchParams();
let asking = null;
let hits = [];
let total = 0;
let current = -1;
let answered = ""; // the question that the hits are of

const RELATIONS = [
  [">", "is answered by"],
  ["> !", "is not answered by"],
  [">>", "is followed later by"],
  [">> !", "is never followed by"],
];

// Letters and digits around a word must be others than its own.
const EDGE = "[\\p{L}\\p{N}]";
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/;

// Patterns of what is searched for, as words.py reads it.
function patternsOf(typed) {
  const found = [];
  for (const match of typed.matchAll(/(-?)(?:"([^"]*)("|$)|(\S+))/g)) {
    const [whole, minus, phrase, closed, word] = match;
    if (minus) continue;
    const text = phrase ?? word;
    const open = match.index + whole.length === typed.length && !closed && !/\s$/.test(text);
    const words = plain(text).match(/[\p{L}\p{N}]+/gu);
    if (!words) continue;
    const begins = open || text.endsWith("*");
    const end = begins || UNSPACED.test(text) ? "" : "(?!" + EDGE + ")";
    const start = UNSPACED.test(text) ? "" : "(?<!" + EDGE + ")";
    found.push(new RegExp(start + words.join("[^\\p{L}\\p{N}]+") + end, "gu"));
  }
  return found;
}

const needle = () => patternsOf(state.get("q") || "");

// Filters of the address, without what is only looked at.
function filters() {
  const kept = new URLSearchParams();
  for (const [key, value] of state) if (value && !["thread", "message", "sort"].includes(key)) kept.set(key, value);
  if (!/[\p{L}\p{N}]/u.test(kept.get("q") || "")) kept.delete("q"); // a word has just begun with a quotation mark
  return kept;
}

function question() {
  const asked = filters();
  if (state.get("sort")) asked.set("sort", state.get("sort"));
  return asked;
}

function showAddress(push) {
  const address = state.toString() ? "/search?" + state : "/search";
  if (address === location.pathname + location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", address);
}

// What openThread wants to be remembered.
function remember(changes) {
  const first = chunk(changes.thread).first;
  state.set("thread", changes.thread);
  if (changes.message == null) state.delete("message");
  else state.set("message", changes.message + first);
  showAddress(true);
}

function change(changes, push = true) {
  for (const [key, value] of Object.entries(changes)) {
    if (value == null || value === "") state.delete(key);
    else state.set(key, value);
  }
  state.delete("thread");
  state.delete("message");
  showAddress(push);
  fillForm();
  search();
}

function fillForm() {
  for (const input of all("#filters [name]")) {
    const value = state.get(input.name) || "";
    if (input.value !== value && document.activeElement !== input) input.value = value;
    if (input.matches("select") && input.value !== value) input.value = "";
  }
  fillSteps();
  const hidden = [...filters().keys()].some((key) => !["q", "act", "seq"].includes(key));
  if (hidden) $("#more").open = true;
  fillChips();
}

function actOptions(first) {
  return [make("option", { value: first[0] }, first[1]), ...acts.filter((act) => !act.hidden).map((act) => make("option", { value: act.number }, act.letter + " " + act.name))];
}

// The steps of a sequence as choices: the act above, then how it is followed, and by what.
function fillSteps() {
  const parts = (state.get("seq") || "").split(/\s*(>>?)\s*/).filter((part) => part !== "");
  $("#steps").replaceChildren();
  $("#f-act").value = parts.length ? parts[0].replace("*", "") : state.get("act") || "";
  for (let i = 1; i < parts.length; i += 2) addStep(parts[i], parts[i + 1] || "*");
}

function addStep(arrow, word) {
  const how = make("select", { class: "how", "aria-label": "How it is followed" }, ...RELATIONS.map(([value, said]) => make("option", { value }, said)));
  const what = make("select", { class: "step", "aria-label": "By a message of" }, ...actOptions(["*", "anybody"]));
  const same = make("input", { type: "checkbox" });
  how.value = arrow + (word.startsWith("!") ? " !" : "");
  const act = word.replace(/^!/, "").replace(/@$/, "");
  what.value = act === "" ? "*" : act;
  same.checked = word.endsWith("@");
  const drop = make("button", { type: "button", title: "Remove this step", "aria-label": "Remove this step" }, "×");
  const row = make("span", { class: "link" }, how, what, make("label", { class: "check", title: "Written by whoever wrote the first message" }, same, "same person"), drop);
  drop.addEventListener("click", () => {
    row.remove();
    readSteps();
  });
  for (const input of [how, what, same]) input.addEventListener("change", readSteps);
  $("#steps").append(row);
}

function readSteps() {
  const first = $("#f-act").value;
  const rows = all("#steps .link");
  let text = first || "*";
  for (const row of rows) {
    const [arrow, not] = row.querySelector(".how").value.split(" ");
    const act = row.querySelector(".step").value;
    text += " " + arrow + " " + (not || "") + (not && act === "*" ? "" : act) + (row.querySelector("input").checked ? "@" : "");
  }
  change(rows.length ? { seq: text, act: "" } : { seq: "", act: first });
}

function inWords(pattern) {
  return pattern.split(/\s*(>>?)\s*/).map((part) => {
    if (part === ">") return " → ";
    if (part === ">>") return " ⇢ ";
    const not = part.startsWith("!");
    const rank = rankOf(Number(part.replace(/[!@]/g, "") || NaN));
    const name = rank >= 0 ? acts[rank].name : not ? "" : "anything";
    return (not ? (name ? "no " : "no answer") : "") + name + (part.endsWith("@") ? " (same person)" : "");
  }).join("");
}

function filterInWords(key, value) {
  const rank = rankOf(Number(value));
  if (key === "q") return "“" + value.trim() + "”";
  if (key === "act") return rank >= 0 ? acts[rank].letter + " " + acts[rank].name : "act " + value;
  if (key === "seq") return inWords(value);
  if (key === "answered") return value === "no" ? "nobody else answers" : "somebody else answers";
  const said = { p: "share at least ", since: "from ", until: "to ", least: "threads of at least ", most: "threads of at most ", first: "from place ", last: "to place ", to: "in reply to " };
  return (said[key] || key.replace(/^by\./, "") + ": ") + value;
}

function fillChips() {
  const chips = [...filters()].map(([key, value]) => {
    const chip = make("button", { type: "button", class: "chip", title: "Remove this filter" }, make("bdi", {}, filterInWords(key, value)), " ×");
    chip.addEventListener("click", () => change({ [key]: "" }));
    return chip;
  });
  $("#chips").replaceChildren(...chips, ...(chips.length ? [] : suggestions()));
}

// Sequences worth a look: questions without an answer, and the strongest arrows.
function suggestions() {
  const asked = acts.find((act) => !act.hidden && /question|ask|request/i.test(act.name));
  const made = asked ? [[asked.name + ", and nobody else answers", { act: asked.number, answered: "no" }]] : [];
  const strong = (data.edges || []).filter((edge) => edge[0] >= 0 && edge[0] !== edge[1] && edge[2] > 1.2 && acts[edge[0]] && acts[edge[1]]);
  for (const edge of strong.slice(0, 2)) {
    const seq = numberOf(edge[0]) + " > " + numberOf(edge[1]);
    made.push([inWords(seq), { seq }]);
  }
  if (!made.length) return [];
  return [make("span", { class: "note" }, "Try: "), ...made.map(([words, changes]) => {
    const chip = make("button", { type: "button", class: "chip" }, words);
    chip.addEventListener("click", () => change(changes));
    return chip;
  })];
}

async function search() {
  if (asking) asking.abort();
  const mine = (asking = new AbortController());
  $("#found").classList.add("waiting");
  try {
    const found = await ask("/api/search", question(), { signal: mine.signal });
    say("");
    await showFound(found);
  } catch (error) {
    if (error.name === "AbortError") return;
    say(error.message);
  }
  if (asking === mine) {
    asking = null;
    $("#found").classList.remove("waiting");
    document.documentElement.dataset.found = location.search;
  }
}

function showFound(found) {
  total = found.messages;
  const part = found.messages === found.of ? "" : " (" + percent(found.messages / Math.max(found.of, 1)) + " of all)";
  $("#found").textContent = total ? plural(total, "message") + " in " + plural(found.threads, data.wording.unit) + part : "No message passes all of these filters.";
  for (const kind of ["csv", "parquet"]) {
    $("#as-" + kind).href = "/export/messages." + kind + "?" + question();
    $("#as-" + kind).hidden = !total;
  }
  $("#nothing").hidden = total > 0;
  $("#counts").hidden = !total;
  $(".reading").classList.toggle("empty", !total);
  showFacets(found);
  startPictures();
  const before = answered === String(question()) ? hits : [];
  answered = String(question());
  hits = found.hits;
  $("#threads").replaceChildren(...hits.map(hitItem));
  $("#more-threads").hidden = hits.length >= total;
  return keepPlace(before);
}

// After something was said about a message, the next hit is the one after it, and as many are listed.
async function keepPlace(before) {
  const place = (hit) => hit.thread === Number(state.get("thread")) && hit.place === Number(state.get("message") ?? NaN);
  const last = current;
  while (hits.length < before.length && hits.length < total) await moreHits();
  current = hits.findIndex(place);
  if (current < 0 && before.length) current = Math.min(last, hits.length) - 1; // it is none any more
}

async function moreHits() {
  const found = await ask("/api/hits", [...question(), ["start", hits.length]]);
  const start = hits.length;
  hits.push(...found.hits);
  $("#threads").append(...found.hits.map((hit, i) => hitItem(hit, start + i)));
  $("#more-threads").hidden = hits.length >= total || !found.hits.length;
}

function hitItem(hit, i) {
  const text = make("span", { class: "snippet", dir: "auto" });
  put(text, hit.text, 0, hit.text.length, places(hit.text, needle()));
  const named = hit.title.startsWith("Thread ") ? [] : [make("b", { class: "title", dir: "auto" }, hit.title)];
  const facts = [hit.speaker ?? "(unknown)", hit.place + 1 + " of " + hit.length];
  if (hit.time != null) facts.push(day(hit.time).slice(0, 10));
  const mark = hit.act >= 0 ? [make("span", { class: "badge " + acts[hit.act].colour, title: acts[hit.act].letter + " " + acts[hit.act].name + ", " + percent(hit.strength) }, acts[hit.act].letter), " "] : [];
  const link = make("a", { href: searchLink({ ...Object.fromEntries(question()), thread: hit.thread, message: hit.place }), "data-thread": hit.thread, "data-message": hit.place, "data-hit": i }, ...named, text, make("small", {}, ...mark, make("bdi", {}, facts.join(" · "))));
  draggable(link, hit);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openHit(i);
  });
  return make("li", {}, link);
}

function openHit(i) {
  if (i < 0 || i >= hits.length) return;
  current = i;
  read(hits[i].thread, hits[i].place);
}

// Fetch a thread and open it; marks those of its messages that pass the filters.
async function read(thread, place, push = true) {
  try {
    const rebuilt = $("#show-rebuilt").checked ? [["rebuilt", "1"]] : [];
    const found = await ask("/api/thread", [...filters(), ["thread", thread], ["place", place ?? 0], ...rebuilt]);
    say("");
    keepThread(found);
    data.rebuilt = rebuilt.length > 0;
    data.threads.speakers = found.speakers;
    const before = location.search;
    openThread(thread, place == null || place >= found.total ? null : place - found.first, needle());
    if (!push && before !== location.search) history.replaceState(null, "", location.pathname + location.search);
    showEnds(found);
  } catch (error) {
    say(error.message);
  }
}

function keepThread(found) {
  chunks.set(found.thread, found);
  threads[found.thread] = [found.thread, 0, found.t.length, found.total];
  titles[found.thread] = found.title;
}

// Of a very long thread, ways to what comes before and after.
function showEnds(found) {
  const room = $("#thread");
  for (const note of room.querySelectorAll(":scope > p.note:last-child")) if (found.t.length < found.total) note.remove();
  const last = found.first + found.t.length;
  const go = (place, words) => {
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", () => read(found.thread, place));
    return button;
  };
  if (found.first > 0) room.querySelector("h3").after(go(Math.max(0, found.first - 1), "Earlier messages"));
  if (last < found.total) room.append(go(last, "Later messages"));
}

function startMessage(view, thread, place) {
  const found = chunk(thread);
  if (found.hits && found.hits.includes(place)) view.classList.add("match");
  judging(view, thread, place);
}

// Move between the messages of an open thread.
function step(by) {
  const messages = all("#thread .message");
  const at = messages.indexOf(document.activeElement.closest("#thread .message"));
  const next = messages[at < 0 ? 0 : at + by];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// A button of the message that has the focus.
function press(title) {
  const message = document.activeElement.closest("#thread .message");
  message?.querySelector('.judge button[title="' + title + '"]')?.click();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target.matches("input")) {
    event.preventDefault(); // browsers empty a search field
    event.target.blur();
  }
  if (event.target.matches("input, select, textarea")) return;
  const keys = {
    "/": () => $("#f-q").focus(),
    j: () => openHit(current + 1),
    k: () => openHit(current - 1),
    n: () => step(1),
    p: () => step(-1),
    t: () => $("#as-line").click(),
    l: () => $("#letters").click(),
    y: () => press("It is right"),
    x: () => press("It is wrong"),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

function fromAddress() {
  state = new URLSearchParams(location.search);
  fillForm();
  search();
  if (state.has("thread")) read(Number(state.get("thread")), state.has("message") ? Number(state.get("message")) : null, false);
  else $("#thread").replaceChildren(make("p", { class: "note" }, "Choose a message to read its " + data.wording.unit + "."));
}

function readAgain() {
  if (state.has("thread")) read(Number(state.get("thread")), state.has("message") ? Number(state.get("message")) : null, false);
}

function startFields(room) {
  for (const input of all(room + " [data-field]")) {
    const list = document.getElementById(input.getAttribute("list"));
    const fill = (names) => list.replaceChildren(...names.map((name) => make("option", { value: name })));
    const choices = data.columns[input.dataset.field];
    if (choices) fill(choices);
    else input.addEventListener("input", async () => fill(await ask("/api/names", { field: input.dataset.field, typed: input.value })));
  }
}

function startSearch() {
  let timer = 0;
  onMessage = startMessage;
  $("#filters").addEventListener("submit", (event) => event.preventDefault());
  $("#f-q").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => change({ q: event.target.value }, !state.has("q")), 120);
  });
  $("#f-act").addEventListener("change", readSteps);
  for (const input of all("#filters [name]:not(#f-q)")) input.addEventListener("change", () => change({ [input.name]: input.value }));
  $("#add-step").addEventListener("click", () => {
    addStep(">", "*");
    readSteps();
  });
  $("#more-threads").addEventListener("click", () => moreHits().catch((error) => say(error.message)));
  $("#letters").addEventListener("change", (event) => $("#thread").classList.toggle("show-letters", event.target.checked));
  $("#as-line").addEventListener("change", (event) => {
    inLine = event.target.checked;
    readAgain();
  });
  $("#show-rebuilt").addEventListener("change", readAgain);
  $("#copy-link").addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href);
    $("#copy-link").textContent = "Copied";
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("popstate", fromAddress);
  startFields("#filters");
  if (matchMedia("(max-width: 800px)").matches) $("#counts").open = false; // hits come first
  watchOthers((now) => {
    takeActs(now.acts);
    search();
    readAgain();
  });
  fromAddress();
}
