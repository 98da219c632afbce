// Names of classes, shown everywhere.

const automatic = acts.map((act) => act.name);
const proposals = acts.map((act) => act.proposed);

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
  if (only) only.textContent = act.letter + " " + act.name;
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
