// People's word about messages: right, wrong, or rather another act; and changes of the run.

// Change the run. If somebody else was faster, nothing is written and what they did is shown.
async function curate(content) {
  try {
    const found = await send("/api/curate", { revision: data.revision, ...content });
    say("");
    data.revision = found.revision;
    document.documentElement.dataset.revision = found.revision;
    return found;
  } catch (error) {
    const now = await ask("/api/curation");
    data.revision = now.revision;
    say(error.message);
    return now;
  }
}

const undone = (what) => curate({ do: what });
const act = (...actions) => curate({ actions });

async function judge(actions) {
  takeActs((await act(...actions)).acts);
  search();
  readAgain();
}

// Acts in place: everything that refers to them sees what they are now.
function takeActs(now) {
  acts.splice(0, acts.length, ...now);
}

// The controls of a message: its act, and whether that is right.
function judging(view, thread, place) {
  const found = chunk(thread);
  if (!data.canMark) return;
  const own = found.a[place];
  const mark = found.marks[place];
  const row = found.row + place;
  const choice = make("select", { "aria-label": "Act of this message", title: "Move to another act" }, ...acts.filter((one) => !one.hidden || acts[own] === one).map((one) => make("option", { value: one.number }, one.letter + " " + one.name)));
  if (own >= 0) choice.value = acts[own].number;
  else choice.prepend(make("option", { value: "", selected: true }, "no act"));
  choice.addEventListener("change", () => judge([{ do: "mark", class: Number(choice.value), row, right: true }]));
  const is = mark && mark.right != null;
  const isNot = mark && mark.right == null;
  const button = (words, title, pressed, action) => {
    const made = make("button", { type: "button", title, "aria-label": title, "aria-pressed": String(Boolean(pressed)) }, words);
    made.addEventListener("click", () => judge([action]));
    return made;
  };
  const box = make("span", { class: "judge" }, choice);
  if (own >= 0) box.append(button("✓", "It is right", is, { do: "mark", class: acts[own].number, row, right: true }), button("✗", "It is wrong", isNot, { do: "mark", class: acts[own].number, row, right: false }));
  if (mark) box.append(button("clear", "Take back what was said about this message", false, { do: "unmark", row }));
  view.querySelector("header").append(box);
}

const ROW = "text/x-palaver-row";

// A hit can be dragged onto an act of "How many".
function draggable(link, hit) {
  if (!data.canMark) return;
  link.addEventListener("dragstart", (event) => event.dataTransfer.setData(ROW, String(hit.row)));
}

function droppable(element, number) {
  if (!data.canMark) return;
  const isRow = (event) => event.dataTransfer.types.includes(ROW);
  element.addEventListener("dragover", (event) => {
    if (!isRow(event)) return;
    event.preventDefault();
    element.classList.add("drop");
  });
  element.addEventListener("dragleave", () => element.classList.remove("drop"));
  element.addEventListener("drop", (event) => {
    if (!isRow(event)) return;
    event.preventDefault();
    judge([{ do: "mark", class: number, row: Number(event.dataTransfer.getData(ROW)), right: true }]);
  });
}

// Another window may have changed something: look again when this one is looked at.
function watchOthers(show) {
  window.addEventListener("focus", async () => {
    try {
      const now = await ask("/api/curation");
      if (now.revision === data.revision) return;
      data.revision = now.revision;
      show(now);
    } catch (error) {
      say(error.message);
    }
  });
}
