// Who and when: one class with its intervals instead of all side by side.

function whisker([share, low, high], overall, top) {
  const line = make("span", { class: "whisker" });
  const at = (value) => (100 * value) / top + "%";
  const usual = make("span", { class: "usual" });
  usual.style.left = at(overall);
  line.append(usual);
  if (low != null) {
    const band = make("span", { class: "interval" });
    band.style.left = at(low);
    band.style.width = (100 * (high - low)) / top + "%";
    line.append(band);
  }
  const dot = make("span", { class: "dot" });
  dot.style.left = at(share);
  line.append(dot);
  const known = low != null && percent(low) !== percent(high);
  const text = percent(share) + (known ? " (" + percent(low) + "–" + percent(high) + ")" : "");
  return make("span", { class: "one" }, line, make("small", {}, text));
}

function showGroups() {
  const chosen = $("#one").value;
  for (const table of all("table.groups")) {
    const { rows, overall } = data.groups[Number(table.dataset.group)];
    const rank = Number(chosen);
    const top = Math.max(0.05, ...rows.map((row) => row[rank][2] ?? row[rank][0]));
    table.querySelectorAll("td.shares").forEach((cell, i) => {
      const bar = cell.querySelector(".bar");
      cell.querySelector(".one")?.remove();
      bar.hidden = chosen !== "";
      if (chosen !== "") {
        const view = whisker(rows[i][rank], overall[rank], top);
        view.classList.add(...acts[rank].colour.split(" "));
        cell.append(view);
      }
    });
  }
}

function startGroups() {
  if ($("#one")) $("#one").addEventListener("change", showGroups);
}
