// A thread: messages in reading order, with tinted stretches and hits of a search.

const SCREEN = 150; // messages of a thread added at a time
const STAIRS = 8; // replies in a row that are still indented step by step

let inLine = false; // messages in the order of the file instead of below what they answer
let onMessage = () => {}; // called with every message that is shown, its thread and its place

function message(thread, place) {
  const [number, first] = threads[thread];
  const part = chunk(number);
  const row = first + place;
  const speaker = part.s[row];
  return {
    text: part.t[row], runs: part.r[row], parent: part.p[row], time: part.m[row], bar: part.b[row],
    speaker: speaker < 0 ? null : data.threads.speakers[speaker],
    gold: part.g && part.g[row] >= 0 ? data.threads.gold.labels[part.g[row]] : null,
  };
}

function day(seconds) {
  return seconds == null ? "" : new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

// Where a needle is found in a text, as [start, end]; case is ignored. A list has patterns.
function places(text, needle) {
  const found = [];
  if (Array.isArray(needle)) return patternPlaces(text, needle);
  if (!needle) return found;
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return found; // places would be off
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, at + needle.length)) {
    found.push([at, at + needle.length]);
  }
  return found;
}

// A text without case and accents, in which every character has its place.
function plain(text) {
  return Array.from({ length: text.length }, (_, i) => {
    const base = text[i].normalize("NFD")[0].toLowerCase();
    return base.length === 1 ? base : text[i];
  }).join("");
}

function patternPlaces(text, patterns) {
  const found = [];
  const folded = patterns.length ? plain(text) : "";
  for (const pattern of patterns) {
    for (const match of folded.matchAll(pattern)) if (match[0]) found.push([match.index, match.index + match[0].length]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}

// Put a piece of a text into an element, with hits of the search marked.
function put(parent, text, start, end, found) {
  let at = start;
  for (const [from, to] of found) {
    if (to <= at || from >= end) continue;
    parent.append(text.slice(at, Math.max(at, from)));
    const until = Math.min(to, end);
    parent.append(make("mark", { class: "found" }, text.slice(Math.max(at, from), until)));
    at = until;
  }
  parent.append(text.slice(at, end));
}

// The text with its coloured stretches, and with hits of the search on top.
function tinted(text, runs, needle) {
  const line = make("p", { dir: "auto" });
  const numbers = unpack(runs);
  const found = places(text, needle);
  let at = 0;
  for (let i = 0; i < numbers.length; i += 3) {
    const start = at + numbers[i];
    const end = start + numbers[i + 1];
    const act = acts[numbers[i + 2]];
    put(line, text, at, start, found);
    const topic = act ? null : data.topics[numbers[i + 2] - acts.length];
    const mark = act
      ? make("mark", { class: act.colour, "data-letter": act.letter, title: act.letter + " " + act.name })
      : make("span", { class: "topic", "data-topic": topic.number, title: "topic " + topic.number + ": " + topic.words });
    put(mark, text, start, end, found);
    line.append(mark);
    at = end;
  }
  put(line, text, at, text.length, found);
  return line;
}

// Messages in reading order: replies right below what they answer.
function treeOrder(thread, parentOf = (i) => message(thread, i).parent) {
  const n = threads[thread][2];
  const children = new Map();
  for (let i = 0; i < n; i++) {
    const parent = parentOf(i);
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(i);
  }
  const order = [];
  const waiting = (children.get(-1) || []).map((i) => [i, 0]).reverse();
  while (waiting.length) {
    const [i, depth] = waiting.pop();
    order.push([i, depth]);
    for (const child of (children.get(i) || []).slice().reverse()) waiting.push([child, depth + 1]);
  }
  return order;
}

// Talk in which everybody answers the one before is a line, not a staircase.
function flattened(order, parentOf) {
  const isLine = order.length > STAIRS && order.every(([i], n) => parentOf(i) === (n ? order[n - 1][0] : -1));
  return isLine ? order.map(([i]) => [i, 0]) : order;
}

function showMessage(thread, place, depth, needle) {
  const m = message(thread, place);
  const head = make("header", {}, make("b", {}, make("bdi", {}, m.speaker == null ? "(unknown)" : m.speaker)));
  if (m.time != null) head.append(make("time", { datetime: new Date(m.time * 1000).toISOString() }, day(m.time)));
  if (m.gold != null) head.append(make("span", { class: "gold", title: "label: " + data.threads.gold.column }, make("bdi", {}, m.gold)));
  head.append(shareBar(unpack(m.bar)));
  const view = make("article", { class: "message" + (depth > STAIRS ? " deeper" : ""), id: "m" + thread + "-" + place, "data-depth": depth, tabindex: -1 }, head, tinted(m.text, m.runs, needle));
  view.style.setProperty("--depth", depth);
  onMessage(view, thread, place);
  return view;
}

// What a thread is about: the topics of its words, most frequent first.
function matter(thread, order) {
  const counts = new Map();
  for (const [place] of order) {
    const numbers = unpack(message(thread, place).runs);
    for (let i = 2; i < numbers.length; i += 3) {
      if (numbers[i] >= acts.length) counts.set(numbers[i], (counts.get(numbers[i]) || 0) + 1);
    }
  }
  const most = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 3);
  const words = (topic) => topic.number + " " + topic.words.split(" ").slice(0, 5).join(" ");
  const list = most.map(([number]) => words(data.topics[number - acts.length])).join(" · ");
  return make("p", { class: "note matter" }, list ? "Topics: " + list : "No topics.");
}

// Threads without a title go by their id; talk is not called threads.
function titleOf(thread) {
  const unit = data.wording.unit[0].toUpperCase() + data.wording.unit.slice(1);
  return data.threads.titles[thread].replace(/^Thread /, unit + " ");
}

function openThread(thread, place, needle) {
  const [, , shown, total] = threads[thread];
  const tree = inLine ? [] : treeOrder(thread);
  const order = inLine ? Array.from({ length: shown }, (_, i) => [i, 0]) : flattened(tree, (i) => message(thread, i).parent);
  const room = $("#thread");
  const title = titleOf(thread) + ", " + total + (total === 1 ? " message" : " messages");
  room.replaceChildren(make("h3", {}, title));
  room.setAttribute("aria-label", title);
  if (!inLine && order.length > 1 && order[order.length - 1][1] === 0 && message(thread, order[1][0]).parent === order[0][0]) {
    room.append(make("p", { class: "note" }, "Each message answers the one before it."));
  }
  if (data.topics && data.topics.length) room.append(matter(thread, order));
  if (data.rebuilt) room.append(...comparison(thread));
  let done = 0;
  const more = make("button", { type: "button" }, "More messages");
  const fill = (until) => {
    const part = document.createDocumentFragment();
    for (; done < Math.min(until, order.length); done++) part.append(showMessage(thread, order[done][0], order[done][1], needle));
    more.before(part);
    more.hidden = done >= order.length;
  };
  room.append(more);
  more.addEventListener("click", () => fill(done + SCREEN));
  fill(Math.max(SCREEN, order.findIndex(([i]) => i === place) + 20));
  if (shown < total) room.append(make("p", { class: "note" }, "This page contains only the first " + shown + " of these messages."));
  for (const item of all("#threads [data-thread]")) item.setAttribute("aria-current", String(Number(item.dataset.thread) === thread && (item.dataset.message == null || Number(item.dataset.message) === place)));
  remember({ thread: thread, message: place == null ? null : place });
  const target = place == null ? room : document.getElementById("m" + thread + "-" + place);
  if (place != null) target.classList.add("hit");
  target.scrollIntoView({ block: place == null ? "nearest" : "center" });
  target.focus({ preventScroll: true });
}
