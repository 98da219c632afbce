// Compare: two groups side by side, with intervals that hold for all acts together.

const SIDES = ["a", "b"];
let comparing = 0;

function sideInWords(side, asked) {
  const own = [...asked].filter(([key]) => key.startsWith(side + "."));
  if (!own.length) return side === "b" ? "all others" : "";
  const [since, until] = ["since", "until"].map((name) => asked.get(side + "." + name));
  const time = since && until ? [since + " to " + until] : since ? ["the time from " + since] : until ? ["the time to " + until] : [];
  const words = { first: "places from ", last: "places up to ", q: "messages with " };
  const said = ([key, value]) => {
    const name = key.slice(2);
    if (name === "last" && value === "1") return "openings";
    if (name === "q") return words.q + "“" + value.trim() + "”";
    return words[name] ? words[name] + value : filterInWords(name, value);
  };
  return [...own.filter(([key]) => !/\.(since|until)$/.test(key)).map(said), ...time].join(", ");
}

function sideLink(side, asked, more) {
  const own = [...asked].filter(([key]) => key.startsWith(side + ".")).map(([key, value]) => [key.slice(2), value]);
  return own.length ? { ...Object.fromEntries(own), ...more } : null;
}

function spelled(seconds) {
  if (seconds == null) return "–";
  const [size, unit] = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([size]) => seconds >= 0.95 * size) || [1, "second"];
  return plural(Math.round(seconds / size), unit);
}

const cell = (...children) => make("td", {}, ...children);
const head = (words, more) => make("th", { scope: "col", ...more }, words);

// The name of a group above its column.
function groupHead(side, asked) {
  const name = sideInWords(side, asked) || "all";
  return head(make("bdi", {}, name.length > 30 ? name.slice(0, 29) + "…" : name), { title: name, class: side === "a" ? "key-one" : "key-other" });
}
const points = (share) => (share > 0 ? "+" : share < 0 ? "−" : "") + Math.abs(100 * share).toFixed(1);

// The interval of a difference, from -most to most.
function intervalOf(row, most) {
  const x = (value) => 100 + (100 * value) / most;
  const picture = draw("svg", { viewBox: "0 0 200 20", class: "interval", role: "img", "aria-label": row.low == null ? "too few to say" : points(row.low) + " to " + points(row.high) + " points" });
  picture.append(draw("line", { x1: 100, x2: 100, y1: 0, y2: 20, class: "zero" }));
  if (row.low != null) picture.append(draw("line", { x1: x(row.low), x2: x(row.high), y1: 10, y2: 10, class: "range" }));
  picture.append(draw("circle", { cx: x(row.difference), cy: 10, r: 4, class: "middle" }));
  return picture;
}

function shareTable(found, asked) {
  const shown = found.acts.map((row, rank) => [row, rank]).filter(([, rank]) => acts[rank] && !acts[rank].hidden);
  const most = Math.max(0.01, ...shown.flatMap(([row]) => [row.low, row.high, row.difference].map((value) => Math.abs(value ?? 0))));
  const share = (side, value, number) => {
    const link = sideLink(side, asked, { act: number });
    return cell(link ? linked(link, (100 * value).toFixed(1) + "%") : (100 * value).toFixed(1) + "%");
  };
  const rows = shown.map(([row, rank]) => make("tr", { class: row.clear ? "clear" : "" }, make("th", { scope: "row" }, badge(rank), " ", make("bdi", {}, acts[rank].name)), share("a", row.before, acts[rank].number), share("b", row.after, acts[rank].number), cell(points(row.difference)), cell(intervalOf(row, most)), cell(row.p == null ? "–" : row.p < 0.001 ? "< 0.001" : row.p.toFixed(3))));
  const heads = [head(data.wording.noun[0].toUpperCase() + data.wording.noun.slice(1)), groupHead("a", asked), groupHead("b", asked), head("Second − first", { title: "Percentage points by which the second share is larger" }), head("95% interval"), head("p, corrected")];
  return make("div", { class: "scroll" }, make("table", { class: "compared shares" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)));
}

// How it is known who answers whom.
const EVIDENCE = { recorded: "", inferred: ", going by inferred replies", order: "; the file records no replies: whoever speaks next counts as answering" };

function answerTable(found, asked) {
  const rate = (side, own, more) => {
    if (!own.messages) return cell("–");
    const words = percent(own.unanswered / own.messages) + " of " + own.messages.toLocaleString("en");
    const link = sideLink(side, asked, { ...more, answered: "no" });
    return cell(link && own.unanswered ? linked(link, words) : words);
  };
  const line = (head, one, other, more) => make("tr", {}, make("th", { scope: "row" }, ...head), rate("a", one, more), rate("b", other, more), cell(spelled(one.wait)), cell(spelled(other.wait)));
  const [one, other] = found.groups;
  const rows = acts.map((own, rank) => [own, rank]).filter(([own, rank]) => !own.hidden && one.acts[rank]).map(([own, rank]) => line([badge(rank), " ", make("bdi", {}, own.name)], one.acts[rank], other.acts[rank], { act: own.number }));
  const both = () => SIDES.map((side) => groupHead(side, asked));
  const over = (words) => make("th", { scope: "colgroup", colspan: 2 }, words);
  const heads = [make("tr", {}, make("td", { rowspan: 2 }), over("Nobody else answers"), over("First answer after")), make("tr", {}, ...both(), ...both())];
  return make("div", { class: "scroll" }, make("table", { class: "compared answers" }, make("thead", {}, ...heads), make("tbody", {}, line(["Openings of " + data.wording.unit + "s"], one.begun, other.begun, { last: 1 }), ...rows)), make("p", { class: "note", id: "evidence" }, "An answer is a message by somebody else who is not a bot" + EVIDENCE[found.replies] + "."));
}

function whoTable(group, asked) {
  const name = (value) => make("th", { scope: "row" }, linked({ ["by." + group.field]: value }, make("bdi", {}, value)));
  const rows = group.values.map(([value, one, other]) => make("tr", {}, name(value), cell(percent(one)), cell(percent(other))));
  return make("table", { class: "compared" }, make("thead", {}, make("tr", {}, head("Share of the messages, by " + group.field), groupHead("a", asked), groupHead("b", asked))), make("tbody", {}, ...rows));
}

function path(values, width, height, most) {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let pen = "M";
  return values.map((value, i) => {
    if (value == null) {
      pen = "M";
      return "";
    }
    const said = pen + (i * step).toFixed(1) + " " + (height - (height * value) / most).toFixed(1);
    pen = "L";
    return said;
  }).join("");
}

// Shares of both groups over time; who or what they are of stands above.
function seriesOf(found, [one, other], label, ...caption) {
  const [width, height] = [300, 80];
  const most = Math.max(0.01, ...one.concat(other).map((value) => value ?? 0));
  const picture = draw("svg", { viewBox: "-2 -6 304 104", role: "img", "aria-label": label + " over time" });
  const text = (x, y, anchor, words) => {
    const label = draw("text", { x, y, class: "tick", "text-anchor": anchor });
    label.textContent = words;
    picture.append(label);
  };
  picture.append(draw("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }), draw("path", { d: path(one, width, height, most), class: "one" }), draw("path", { d: path(other, width, height, most), class: "other" }));
  text(0, height + 14, "start", found.days[0]);
  text(width, height + 14, "end", found.days[found.days.length - 1]);
  text(width, 4, "end", percent(most));
  return make("figure", {}, make("figcaption", {}, ...caption), picture);
}

function actsOverTime(found) {
  const ranks = acts.map((own, rank) => rank).filter((rank) => !acts[rank].hidden && found.series[0][rank]);
  return make("div", { class: "series" }, ...ranks.map((rank) => seriesOf(found, found.series.map((side) => side[rank]), acts[rank].name, badge(rank), " ", make("bdi", {}, acts[rank].name))));
}

function whoOverTime(found, group) {
  const figures = group.values.map(([value], i) => seriesOf(found, group.series.map((side) => side[i]), value, make("bdi", {}, value)));
  return make("details", { class: "over-time" }, make("summary", {}, "Over time: share of the messages, by " + group.field), make("div", { class: "series" }, ...figures));
}

// All intervals as one picture, to save: names and an axis stand where the table has them.
function intervalsPicture(found) {
  const shown = found.acts.map((row, rank) => [row, rank]).filter(([, rank]) => acts[rank] && !acts[rank].hidden);
  const most = Math.max(0.01, ...shown.flatMap(([row]) => [row.low, row.high, row.difference].map((value) => Math.abs(value ?? 0))));
  const [left, width, line] = [260, 320, 24];
  const height = line * shown.length;
  const x = (value) => left + (width / 2) * (1 + value / most);
  const picture = draw("svg", { viewBox: "0 0 600 " + (height + 24), class: "intervals", role: "img", "aria-label": "Differences with 95% intervals" });
  const text = (at, y, anchor, words) => {
    const label = draw("text", { x: at, y, class: "tick", "text-anchor": anchor });
    label.textContent = words;
    picture.append(label);
  };
  picture.append(draw("line", { x1: x(0), x2: x(0), y1: 0, y2: height, class: "zero" }));
  shown.forEach(([row, rank], i) => {
    const y = line * (i + 0.5);
    const name = acts[rank].letter + " " + acts[rank].name;
    text(left - 10, y + 4, "end", name.length > 34 ? name.slice(0, 33) + "…" : name);
    if (row.low != null) picture.append(draw("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: "range" }));
    picture.append(draw("circle", { cx: x(row.difference), cy: y, r: 4, class: "middle" }));
  });
  for (const value of [-most, 0, most]) text(x(value), height + 16, value < 0 ? "start" : value > 0 ? "end" : "middle", points(value) + (value ? " points" : ""));
  return make("details", {}, make("summary", {}, "As a picture"), make("figure", {}, picture));
}

function showComparison(found, asked) {
  const [one, other] = found.groups;
  const facts = make("p", {}, make("b", { class: "key-one" }, sideInWords("a", asked)), ": " + plural(one.messages, "message") + " in " + plural(one.threads, data.wording.unit) + " · ", make("b", { class: "key-other" }, sideInWords("b", asked)), ": " + plural(other.messages, "message") + " in " + plural(other.threads, data.wording.unit));
  const parts = [make("ul", { id: "sentences" }, ...found.sentences.map((said) => make("li", {}, said))), facts, make("h2", {}, "How much"), shareTable(found, asked), intervalsPicture(found), make("p", { class: "note" }, "Points are the second share minus the first. Intervals hold for all " + data.wording.noun + "s at once; whole " + found.resampled + "s are drawn again."), make("h2", {}, "How it is answered"), answerTable(found, asked)];
  if (found.series[0].length && found.days.length > 1) parts.push(make("h2", {}, "Over time, by " + found.period), actsOverTime(found));
  const who = found.who.filter((group) => group.values.length);
  if (who.length) parts.push(make("h2", {}, "Who"), make("div", { class: "sides" }, ...who.map((group) => whoTable(group, asked))));
  if (who.length && found.days.length > 1) parts.push(...who.map((group) => whoOverTime(found, group)));
  $("#comparison").replaceChildren(...parts);
  startPictures();
}

async function compareNow(push) {
  const asked = new URLSearchParams([...new FormData($("#groups"))].filter(([, value]) => value));
  const address = "/compare" + (asked.size ? "?" + asked : "");
  if (push && address !== location.pathname + location.search) history.pushState(null, "", address);
  const mine = ++comparing;
  if (!asked.size) {
    $("#comparison").replaceChildren();
    for (const kind of ["csv", "parquet"]) $("#as-" + kind).hidden = true;
    return;
  }
  $("#comparison").classList.add("waiting");
  if (!$("#comparison").children.length) $("#comparison").replaceChildren(make("p", { class: "note" }, "Comparing …"));
  const named = new URLSearchParams([...asked, ...SIDES.map((side) => ["name." + side, sideInWords(side, asked) || "all"])]);
  try {
    const found = await ask("/api/compare", named);
    if (mine !== comparing) return;
    say("");
    for (const kind of ["csv", "parquet"]) {
      $("#as-" + kind).href = "/export/comparison." + kind + "?" + named;
      $("#as-" + kind).hidden = false;
    }
    showComparison(found, asked);
  } catch (error) {
    if (mine !== comparing) return;
    say(error.message);
    $("#comparison").replaceChildren();
  }
  $("#comparison").classList.remove("waiting");
}

function groupsFromAddress() {
  const asked = new URLSearchParams(location.search);
  for (const input of all("#groups [name]")) input.value = asked.get(input.name) || "";
  compareNow(false);
}

// What is worth a look: the halves of the time, and values of columns that have two or three.
function suggestComparisons() {
  const made = [];
  if (data.days && data.days[0] !== data.days[1]) {
    const middle = new Date((Date.parse(data.days[0]) + Date.parse(data.days[1])) / 2).toISOString().slice(0, 10);
    made.push(["earlier and later", { "a.until": dayBefore(middle), "b.since": middle }]);
  }
  for (const field of data.fields) {
    const choices = data.columns[field];
    if (field !== "speaker" && choices && choices.length >= 2) made.push([choices[0] + " and " + choices[1], { ["a.by." + field]: choices[0], ["b.by." + field]: choices[1] }]);
  }
  made.push(["openings and the rest", { "a.last": "1" }]);
  $("#suggested").replaceChildren("Try: ", ...made.slice(0, 4).map(([words, params]) => make("a", { class: "chip", href: "/compare?" + new URLSearchParams(params) }, make("bdi", {}, words))));
}

function startCompare() {
  startFields("#groups");
  suggestComparisons();
  $("#groups").addEventListener("submit", (event) => event.preventDefault());
  $("#groups").addEventListener("change", () => compareNow(true));
  window.addEventListener("popstate", groupsFromAddress);
  watchOthers((now) => {
    takeActs(now.acts);
    compareNow(false);
  });
  groupsFromAddress();
}
