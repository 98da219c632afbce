// Curate: names, descriptions, merging, hiding and order of acts.

const chosen = new Set(); // numbers of acts that are to be merged
let curated = null;

async function doing(made) {
  redraw(await made);
}

// Show the acts again; focus, and what is being typed, stay.
function redraw(found) {
  const held = document.activeElement;
  const typed = held && "saved" in held.dataset && held.value !== held.dataset.saved;
  if (typed) held.dataset.saved = held.value; // browsers tell of a change when a field goes away
  showCurated(found);
  const again = held && held.id && document.getElementById(held.id);
  if (!again || again === held) return;
  if (typed) again.value = held.value;
  again.focus();
}

function field(one, what, value, placeholder, length) {
  const input = make("input", { id: what + "-" + one.number, value, placeholder, maxlength: length, "aria-label": placeholder + " of " + one.letter, disabled: data.readOnly });
  input.dataset.saved = value;
  const save = () => {
    if (input.value === input.dataset.saved) return;
    input.dataset.saved = input.value;
    const words = input.value.split(/[\s,]+/).filter(Boolean);
    const said = { name: { name: input.value }, describe: { text: input.value }, seeds: { words } };
    doing(act({ do: what, class: one.number, ...said[what] }));
  };
  input.addEventListener("change", save);
  input.addEventListener("keydown", (event) => event.key === "Enter" && save());
  return input;
}

function move(one, by) {
  const order = acts.filter((other) => !other.hidden).map((other) => other.number);
  const at = order.indexOf(one.number);
  if (at + by < 0 || at + by >= order.length) return;
  order.splice(at, 1);
  order.splice(at + by, 0, one.number);
  doing(act({ do: "order", classes: order }));
}

function tool(id, words, title, run) {
  const button = make("button", { type: "button", id, title, "aria-label": title, disabled: data.readOnly }, words);
  button.addEventListener("click", run);
  return button;
}

// A few messages that are surest to be of an act; the first one is seen at once.
function examplesOf(one) {
  const list = make("ul", {});
  const first = make("bdi", {});
  const box = make("details", { class: "examples" }, make("summary", { id: "examples-" + one.number }, "Examples", first), list);
  surestOf(one).then((found) => {
    first.textContent = found.length ? ": " + found[0].text.slice(0, 120) : ": none";
    list.replaceChildren(...found.map((hit) => make("li", { dir: "auto" }, linked({ act: one.number, thread: hit.thread, message: hit.place }, hit.text.slice(0, 200)))));
  }, (error) => say(error.message));
  return box;
}

const surest = new Map(); // what was asked for, until acts change

// The surest messages of an act, each text once.
function surestOf(one) {
  const key = one.members.join() + " " + one.messages;
  if (!surest.has(key)) {
    surest.set(key, ask("/api/hits", { act: one.number, sort: "surest" }).then(({ hits }) => {
      const others = hits.filter((hit, i) => hits.findIndex((other) => other.text === hit.text) === i);
      return others.slice(0, 5);
    }));
  }
  return surest.get(key);
}

function curatedItem(one) {
  const check = make("input", { type: "checkbox", id: "pick-" + one.number, "aria-label": "Choose " + one.letter + " " + one.name + " for merging", disabled: data.readOnly });
  check.checked = chosen.has(one.number);
  check.addEventListener("change", () => {
    if (check.checked) chosen.add(one.number);
    else chosen.delete(one.number);
    showTools();
  });
  const tools = make("span", { class: "tools" });
  if (!one.hidden) {
    tools.append(tool("up-" + one.number, "↑", "Move " + one.letter + " up", () => move(one, -1)), tool("down-" + one.number, "↓", "Move " + one.letter + " down", () => move(one, 1)));
  }
  tools.append(one.hidden ? tool("hide-" + one.number, "Show", "Show " + one.letter, () => doing(act({ do: "show", class: one.number }))) : tool("hide-" + one.number, "Hide", "Hide " + one.letter, () => doing(act({ do: "hide", class: one.number }))));
  if (one.members.length > 1) tools.append(tool("apart-" + one.number, "Take apart", "Take " + one.letter + " apart again", () => doing(act({ do: "separate", class: one.number }))));
  if (one.members.length === 1 && data.canMark) tools.append(divideTool(one));
  const said = one.named ? "" : one.proposed ? "name proposed" : "not named";
  const link = linked({ act: one.number }, plural(one.messages, "message"));
  link.id = "messages-" + one.number;
  const facts = make("small", { class: "note" }, "mainly in ", link, " (" + percent(one.share) + ")" + (one.members.length > 1 ? " · " + one.members.length + " merged" : "") + (said ? " · " + said : ""));
  return make("li", { class: one.hidden ? "is-hidden" : "", "data-act": one.number }, check, make("span", { class: "badge " + one.colour }, one.letter), make("div", { class: "words-of" }, field(one, "name", one.named ? one.name : "", one.named ? "Name" : one.name, 80), field(one, "describe", one.description, "Description", 2000), ...(data.canRefit ? [field(one, "seeds", one.seeds.join(" "), "Words that a new fit should look for", 500)] : []), facts, examplesOf(one)), tools);
}

const VERBS = { describe: "described", merge: "merged", separate: "took apart", hide: "hid", show: "showed again", order: "ordered", mark: "marked a message of", unmark: "cleared the mark of a message", split: "divided", seeds: "gave words for" };

// What a class is called; if it was merged or divided since, what the model calls it.
function called(id) {
  const own = acts[rankOf(id)];
  return own && own.members.length === 1 ? own.name : curated.names[id] ?? "class " + id;
}

function stepInWords(step) {
  const split = step.actions.find((action) => action.do === "split"); // parts come with names
  const said = (split ? [split] : step.actions).map((action) => {
    const ids = action.classes || (action.class == null ? [] : [action.class]);
    const names = ids.map(called);
    if (action.do === "name") return action.name ? "named an act “" + action.name + "”" : "gave back the proposed name of " + names.join(", ");
    return VERBS[action.do] + " " + (action.do === "order" ? plural(ids.length, "act") : names.join(", ")) + (action.do === "mark" && !action.right ? " as wrong" : action.do === "split" ? " into " + plural(action.parts, "part") : "");
  });
  return said.join("; ") + (step.by ? " – " + step.by : "") + (step.at ? ", " + step.at.slice(0, 16).replace("T", " ") : "");
}

function showTools() {
  $("#merge").disabled = data.readOnly || chosen.size < 2;
  $("#merge").textContent = chosen.size < 2 ? "Merge" : "Merge " + chosen.size + " acts";
  $("#undo").disabled = data.readOnly || !curated.can_undo;
  $("#redo").disabled = data.readOnly || !curated.can_redo;
}

function showCurated(found) {
  curated = found;
  takeActs(found.acts);
  for (const number of [...chosen]) if (!acts.some((one) => one.number === number)) chosen.delete(number);
  $("#curated").replaceChildren(...acts.map(curatedItem));
  showSize();
  $("#steps-done").replaceChildren(...found.steps.map((step) => make("li", {}, stepInWords(step))));
  $("#history").hidden = !found.steps.length;
  $("#done").textContent = (found.steps.length ? "Last: " + stepInWords(found.steps[0]) + "." : "Nothing was changed yet.") + (found.marked ? " " + plural(found.marked, "message") + " marked." : "");
  showTools();
  document.documentElement.dataset.revision = found.revision;
}

function onCurateKey(event) {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches("input:not([type=checkbox])")) return;
  if (event.key !== "z" && event.key !== "y") return;
  event.preventDefault();
  doing(undone(event.key === "y" || event.shiftKey ? "redo" : "undo"));
}

function startCurate() {
  $("#merge").addEventListener("click", () => {
    const classes = acts.map((one) => one.number).filter((number) => chosen.has(number));
    chosen.clear();
    doing(act({ do: "merge", classes }));
  });
  $("#undo").addEventListener("click", () => doing(undone("undo")));
  $("#redo").addEventListener("click", () => doing(undone("redo")));
  if (!data.readOnly) document.addEventListener("keydown", onCurateKey);
  watchOthers(redraw);
  startRefit();
  ask("/api/curation").then((found) => {
    data.revision = found.revision;
    showCurated(found);
  }, (error) => say(error.message));
}
