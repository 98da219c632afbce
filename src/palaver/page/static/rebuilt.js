// Given and rebuilt replies side by side; only on pages that have both.

function rebuiltParent(thread, place) {
  const [number, first] = threads[thread];
  const parent = chunk(number).q[first + place];
  return parent < threads[thread][2] ? parent : -1; // of a thread that was cut
}

function differing(thread) {
  const places = [];
  for (let i = 0; i < threads[thread][2]; i++) {
    if (message(thread, i).parent !== rebuiltParent(thread, i)) places.push(i);
  }
  return places;
}

// One of the two trees: a line for each message, indented below what it answers.
function tree(thread, parentOf, differs, title) {
  const list = make("ol", { class: "tree", "aria-label": title });
  for (const [i, depth] of treeOrder(thread, parentOf)) {
    const m = message(thread, i);
    const parent = parentOf(i);
    const said = parent < 0 ? "starts" : "answers " + (parent + 1);
    const line = make("li", { class: differs.has(i) ? "differs" : "", "data-message": i },
      make("small", {}, i + 1 + (differs.has(i) ? " ≠ " + said : "") + " "),
      make("b", {}, make("bdi", {}, m.speaker == null ? "(unknown)" : m.speaker)), " ",
      make("span", { dir: "auto" }, m.text.slice(0, 90)));
    line.style.setProperty("--depth", Math.min(depth, 8));
    list.append(line);
  }
  return make("div", {}, make("h4", {}, title), list);
}

// A button that opens and closes the comparison of a thread.
function comparison(thread) {
  const differs = differing(thread);
  const n = threads[thread][2];
  const words = differs.length ? differs.length + " of " + n + " differ" : "all the same";
  const button = make("button", { type: "button", class: "compare", "aria-expanded": "false" }, "Given and rebuilt replies: " + words);
  const view = make("div", { class: "side-by-side", hidden: true });
  button.addEventListener("click", () => {
    if (!view.children.length) {
      const marked = new Set(differs);
      view.append(tree(thread, (i) => message(thread, i).parent, marked, "As given"), tree(thread, (i) => rebuiltParent(thread, i), marked, "As rebuilt"));
    }
    view.hidden = !view.hidden;
    button.setAttribute("aria-expanded", String(!view.hidden));
  });
  return [button, view];
}
