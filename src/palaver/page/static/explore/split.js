// Dividing an act: a fit inside it, whose parts are shown before they are kept.

function partShown(part, number) {
  const examples = part.examples.map((one) => make("li", { dir: "auto" }, linked({ act: number, thread: one.thread, message: one.message }, one.text)));
  return make("li", {}, make("b", { dir: "auto" }, part.name), " · in " + plural(part.messages, "message"), make("br"), make("span", { class: "note", dir: "auto" }, part.words.join(", ")), make("ul", {}, ...examples));
}

function dividing(one) {
  const box = make("div", { class: "dividing", id: "dividing-" + one.number, role: "group", "aria-label": "Divide " + one.letter });
  const number = make("input", { type: "number", min: 2, max: 10, value: 2, id: "parts-" + one.number });
  const again = tool("try-" + one.number, "Show parts", "Show the parts of " + one.letter, show);
  const close = tool("leave-" + one.number, "Leave", "Leave " + one.letter + " as it is", () => box.remove());
  const room = make("div", { "aria-live": "polite" });
  let working = false; // a button that is disabled would lose the focus
  async function show() {
    if (working || !number.reportValidity()) return;
    working = true;
    room.replaceChildren(make("p", { class: "note" }, "Working …"));
    try {
      const found = await send("/api/split", { class: one.number, parts: Number(number.value) });
      const keep = tool("keep-" + one.number, "Keep these parts", "Keep these parts", () => keepParts(found.actions));
      room.replaceChildren(make("ol", { class: "parts" }, ...found.parts.map((part) => partShown(part, one.number))), keep);
      say("");
    } catch (error) {
      room.replaceChildren();
      say(error.message);
    }
    working = false;
  }
  box.append(make("label", {}, "Parts ", number), " ", again, " ", close, room);
  return box;
}

// The parts become acts; the first one can be named at once.
async function keepParts(actions) {
  const before = new Set(acts.map((one) => one.number));
  await doing(curate({ actions }));
  const first = acts.find((one) => !before.has(one.number));
  if (first) $("#name-" + first.number).focus();
}

function divideTool(one) {
  return tool("divide-" + one.number, "Divide", "Divide " + one.letter, () => {
    const item = document.querySelector('#curated [data-act="' + one.number + '"]');
    if (item.querySelector(".dividing")) return;
    item.append(dividing(one));
    item.querySelector(".dividing input").select();
  });
}
