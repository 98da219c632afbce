// Names that are typed: kept in the page's address, exported as JSON.

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
  saveBlob(new Blob([content + "\n"], { type: "application/json" }), "names.json");
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
