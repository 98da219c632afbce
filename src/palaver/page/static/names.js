// Names of classes: shown everywhere, kept in the page's address, exported as JSON.

const automatic = acts.map((act) => act.name);
const proposals = acts.map((act) => act.proposed);

function namesInAddress() {
  const found = new URLSearchParams(location.hash.slice(1)).get("names");
  if (!found) return {};
  try {
    const names = JSON.parse(found);
    return names && typeof names === "object" ? names : {};
  } catch {
    return {};
  }
}

function givenNames() {
  const names = {};
  for (const act of acts) if (act.named) names[act.number] = act.name;
  return names;
}

// Put what the page should remember into its address, without a jump.
function remember(changes) {
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  for (const [key, value] of Object.entries(changes)) {
    if (value == null || value === "") state.delete(key);
    else state.set(key, value);
  }
  const hash = state.toString();
  history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
}

// A name in a picture, in at most two lines; graph.py cuts them in the same way.
function showLabel(place, name) {
  const size = Number(place.dataset.size);
  const spans = Array.from(place.children);
  const space = name.lastIndexOf(" ", size);
  const at = space > 0 ? space : size;
  const lines = name.length <= size ? [name] : [name.slice(0, at), name.slice(at).trim()];
  spans[0].textContent = lines[0];
  const rest = lines.length > 1 && lines[1].length > size ? lines[1].slice(0, size - 1) + "…" : lines[1] || "";
  if (spans[1]) spans[1].textContent = rest;
  else if (rest) spans[0].textContent = name.slice(0, size - 1) + "…";
}

function showName(rank) {
  const act = acts[rank];
  for (const place of all('[data-name="' + rank + '"]')) {
    place.textContent = act.name;
    place.classList.toggle("proposed", act.proposed);
  }
  for (const place of all('[data-proposed="' + rank + '"]')) place.hidden = !act.proposed;
  for (const place of all('[data-label="' + rank + '"]')) {
    showLabel(place, act.name);
    place.parentNode.setAttribute("aria-label", act.letter + ": " + act.name + ", " + act.share);
  }
  const only = $('#only option[value="' + rank + '"]');
  if (only) only.textContent = "40% or more " + act.letter + " " + act.name;
  const one = $('#one option[value="' + rank + '"]');
  if (one) one.textContent = act.letter + " " + act.name + ", with 95% intervals";
}

function rename(rank, text) {
  const name = text.trim().slice(0, 80);
  acts[rank].named = name !== "";
  acts[rank].proposed = name === "" && proposals[rank];
  acts[rank].name = name || automatic[rank];
  showName(rank);
}

function keepNames() {
  const names = givenNames();
  remember({ names: Object.keys(names).length ? JSON.stringify(names) : null });
  const count = Object.keys(names).length;
  $("#names-said").textContent = count
    ? count + (count === 1 ? " name is" : " names are") + " stored in this page's address; copy the address to keep or share them, or export them for palaver report --names."
    : "Names you type are stored in this page's address; copy the address to keep or share them.";
}

function exportNames() {
  const content = JSON.stringify({ palaver: "names", run: data.run, names: givenNames() }, null, 1);
  const address = URL.createObjectURL(new Blob([content + "\n"], { type: "application/json" }));
  const link = make("a", { href: address, download: "names.json" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function startNames() {
  const kept = namesInAddress();
  for (const input of all("[data-rename]")) {
    const rank = Number(input.dataset.rename);
    const name = kept[acts[rank].number];
    if (typeof name === "string" && name.trim()) {
      input.value = name;
      rename(rank, name);
    }
    input.addEventListener("input", () => {
      rename(rank, input.value);
      keepNames();
    });
  }
  $("#export-names").addEventListener("click", exportNames);
}
