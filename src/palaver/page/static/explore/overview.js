// The overview: its bars, arrows, circles, words and numbers lead to messages.

function followNode(rank) {
  visit({ act: numberOf(rank) });
}

const SOME = 0.01; // share of an act in messages that have any of it

// Names that were given since the overview was made.
function showNewNames() {
  acts.forEach((one, rank) => {
    if (one.was !== undefined && one.was !== one.name) showName(rank);
  });
}

function startRebuild() {
  const button = $("#rebuild");
  if (!button) return;
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.textContent = "Working …";
    try {
      await send("/api/rebuild", {});
      location.reload();
    } catch (error) {
      say(error.message);
      button.disabled = false;
      button.textContent = "Try again";
    }
  });
}

function startOverview() {
  const below = $("#give-names");
  if (below) below.replaceChildren(make("a", { href: "/curate" }, "Give them better names"));
  const ways = $("#ways-to-divide");
  if (ways && !data.readOnly) ways.replaceChildren(make("a", { href: "/curate" }, "Divide it, or fit again with more of them"), ".");
  showNewNames();
  startRebuild();
  for (const link of all('a[href^="#act-"]')) {
    const rank = acts.findIndex((act) => "#act-" + act.letter === link.getAttribute("href"));
    if (rank >= 0) link.setAttribute("href", searchLink({ act: numberOf(rank) }));
  }
  for (const edge of all(".edge")) {
    const [from, to] = [Number(edge.dataset.from), Number(edge.dataset.to)];
    follow(edge, from < 0 ? { act: numberOf(to), last: 1 } : { seq: numberOf(from) + " > " + numberOf(to) });
  }
  for (const row of all("table.edges tbody tr")) linkEdgeRow(row);
  for (const card of all(".card")) linkCard(card);
  for (const table of all("table.groups")) linkGroups(table);
  for (const table of all("table.heat[data-by]")) linkHeat(table);
  linkPeople();
  linkQuestions();
  for (const row of all("table.bars tr[data-first]")) {
    const place = { first: row.dataset.first, last: row.dataset.last };
    linkPieces(row, place);
    const cell = row.querySelector("td.n");
    cell.replaceChildren(linked(place, cell.textContent));
  }
  linkPieces($(".overview-bar"), {});
  for (const [i, item] of all(".curves li").entries()) {
    const link = item.querySelector("a");
    const picture = item.querySelector("svg");
    if (link && picture) picture.addEventListener("click", () => (location.href = link.href));
    if (picture) picture.classList.add("followed");
  }
  for (const button of all(".jump")) {
    button.addEventListener("click", () => (location.href = searchLink({ thread: button.dataset.conversation, message: button.dataset.message })));
  }
}

function linkEdgeRow(row) {
  const ends = Array.from(row.querySelectorAll("td")).slice(0, 2).map((cell) => {
    const letter = cell.querySelector(".badge");
    return letter ? acts.findIndex((act) => act.letter === letter.textContent) : -1;
  });
  const cell = row.querySelector("td.n");
  if (!cell || ends[1] < 0) return;
  const params = ends[0] < 0 ? { act: numberOf(ends[1]), last: 1 } : { seq: numberOf(ends[0]) + " > " + numberOf(ends[1]) };
  cell.replaceChildren(linked(params, cell.textContent));
}

function linkCard(card) {
  const act = numberOf(Number(card.dataset.rank));
  const share = card.querySelector(".share");
  share.replaceChildren(linked({ act }, share.textContent));
  for (const word of card.querySelectorAll(".words span")) {
    const text = word.textContent;
    if (/[\p{L}\p{N}]/u.test(text)) word.replaceChildren(linked({ q: text + " ", act, p: SOME }, text));
  }
  for (const sentence of card.querySelectorAll(".typical q")) {
    const text = sentence.textContent;
    sentence.replaceChildren(linked({ q: '"' + text.replaceAll('"', " ") + '"' }, text));
  }
}

function linkPieces(room, params) {
  for (const bar of room.querySelectorAll(".bar")) {
    const pieces = Array.from(bar.querySelectorAll("[data-rank]"));
    for (const piece of pieces) follow(piece, { ...params, act: numberOf(Number(piece.dataset.rank)) });
    walkPieces(bar, pieces);
  }
}

// A bar is one stop of the Tab key; arrow keys move between its pieces, Enter follows one.
function walkPieces(bar, pieces) {
  if (!pieces.length) return;
  bar.setAttribute("role", "group");
  pieces.forEach((piece, i) => {
    piece.tabIndex = i ? -1 : 0;
    piece.setAttribute("role", "link");
    piece.setAttribute("aria-label", piece.title);
    piece.addEventListener("keydown", (event) => {
      if (event.key === "Enter") piece.click();
      const next = pieces[i + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0)];
      if (!next || next === piece) return;
      event.preventDefault();
      piece.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  });
}

function linkGroups(table) {
  const column = table.dataset.by;
  if (!data.fields.includes(column)) return;
  for (const row of table.querySelectorAll("tbody tr[data-value]")) {
    const params = { ["by." + column]: row.dataset.value };
    linkPieces(row, params);
    linkCell(row.querySelector("th"), params);
    linkCell(row.querySelector("td.n"), params);
    const out = row.querySelector("td.out a");
    if (out) out.href = out.href + "&" + new URLSearchParams(params);
  }
}

function linkCell(cell, params) {
  if (cell && /[1-9\p{L}]/u.test(cell.textContent)) cell.replaceChildren(linked(params, ...cell.childNodes));
}

// Labels of a column against acts.
function linkHeat(table) {
  const column = table.dataset.by;
  if (!data.fields.includes(column)) return;
  const shown = Array.from(table.querySelectorAll("thead .badge")).map((letter) => acts.findIndex((act) => act.letter === letter.textContent));
  for (const row of table.querySelectorAll("tbody tr")) {
    const [label, ...cells] = row.children;
    const params = { ["by." + column]: label.textContent };
    linkCell(label, params);
    cells.forEach((cell, i) => linkCell(cell, shown[i] >= 0 ? { ...params, act: numberOf(shown[i]), p: SOME } : params));
  }
}

// Names as the index has them: capitals alone would look like an act.
const person = (name) => (/^\p{Lu}{1,2}$/u.test(name) ? "speaker " + name : name);

function linkPeople() {
  for (const name of all("#people svg .person")) follow(name, { "by.speaker": person(name.dataset.name) }, "Messages of " + name.dataset.name);
  for (const arrow of all("#people svg .link")) {
    const { from, to } = arrow.dataset;
    follow(arrow, { "by.speaker": person(from), to: person(to) }, from + " answers " + to);
  }
  const heads = all("#people thead th").map((head) => head.textContent);
  const more = { person: {}, messages: {}, opened: { last: 1 }, unanswered: { last: 1, answered: "no" } };
  for (const row of all("#people tbody tr")) {
    const speaker = row.querySelector("th").textContent;
    heads.forEach((head, i) => more[head] && linkCell(row.children[i], { "by.speaker": speaker, ...more[head] }));
  }
}

function linkQuestions() {
  const note = $("#waiting > .note");
  if (note) note.append(" ", linked({ last: 1, answered: "no", sort: "newest" }, "Read what nobody answered."));
  for (const row of all("#waiting tbody tr")) {
    const act = acts.find((one) => one.letter === row.querySelector(".badge").textContent);
    if (!act) continue;
    linkCell(row.children[1], { act: act.number });
    linkCell(row.children[2], { act: act.number, answered: "yes" });
  }
  for (const row of all("#helping tbody tr")) {
    const [helper, helped] = [0, 1].map((i) => row.children[i].textContent);
    linkCell(row.children[0], { "by.speaker": helper });
    linkCell(row.children[1], { "by.speaker": helped });
    linkCell(row.children[2], { "by.speaker": helper, to: helped });
    linkCell(row.children[3], { "by.speaker": helped, to: helper });
  }
  for (const row of all("#balance tbody tr")) {
    for (const i of [0, 1]) linkCell(row.children[i], { "by.speaker": row.children[0].textContent });
  }
}
