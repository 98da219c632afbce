// Coders: a sample is labelled blind, then compared.

let task = null;
let coder = "";

const figure = (value) => (value == null ? "–" : value.toFixed(2));

function showAgreement(found) {
  const room = $("#agreement");
  if ($("#draw")) {
    $("#draw").hidden = found.sample > 0;
    $("#who").hidden = !found.sample || task != null;
  }
  const parts = [];
  if (!found.sample) parts.push(make("p", { class: "note" }, "No sample was drawn yet."));
  else parts.push(make("p", {}, plural(found.sample, "message") + " in the sample. " + (found.coders.length ? found.coders.map(([name, done]) => name + " has labelled " + done).join("; ") + "." : "Nobody has labelled yet.")));
  if (found.alpha) {
    const [alpha, low, high] = found.alpha;
    parts.push(make("p", { id: "alpha" }, make("b", {}, "Krippendorff’s alpha between all coders: " + figure(alpha)), low == null ? "" : " (95% interval " + figure(low) + " to " + figure(high) + ")"));
  }
  if (found.pairs.length) {
    const rows = found.pairs.map((pair) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, pair.names[0]), " and ", make("bdi", {}, pair.names[1])), ...[pair.messages.toLocaleString("en"), pair.same == null ? "–" : percent(pair.same), figure(pair.kappa), figure(pair.alpha)].map((words) => make("td", {}, words))));
    parts.push(make("div", { class: "scroll" }, make("table", { class: "compared pairs" }, make("thead", {}, make("tr", {}, ...["", "Messages", "Equal", "Kappa", "Alpha"].map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows))));
  }
  room.replaceChildren(...parts);
}

async function refreshAgreement() {
  try {
    showAgreement(await ask("/api/agreement"));
  } catch (error) {
    say(error.message);
  }
}

function codeButton(number, words, key) {
  const button = make("button", { type: "button", "data-code": number, "aria-pressed": String(task.said === number) }, make("kbd", {}, key), " ", make("bdi", {}, words));
  button.addEventListener("click", () => code(number));
  return button;
}

function showTask() {
  const room = $("#task");
  room.hidden = false;
  $("#agreement").hidden = task.place != null; // what others said is not seen while labelling
  document.documentElement.dataset.coded = task.done;
  if (task.place == null) {
    room.replaceChildren(make("p", {}, "All " + plural(task.of, "message") + " are labelled. Thank you."));
    task = null;
    refreshAgreement();
    return;
  }
  const shown = acts.filter((one) => !one.hidden);
  const back = make("button", { type: "button" }, "Back");
  back.addEventListener("click", () => goBack());
  room.replaceChildren(make("p", { class: "note" }, "Message " + (task.place + 1) + " of " + task.of + "; " + task.done + " labelled."), ...task.before.map(([who, text]) => make("p", { class: "before", dir: "auto" }, (who ? who + ": " : "") + text)), make("blockquote", { dir: "auto" }, (task.speaker ? task.speaker + ": " : "") + task.text), make("p", { class: "codes" }, ...shown.map((one, i) => codeButton(one.number, one.name + (one.description ? ": " + one.description : ""), i < 9 ? String(i + 1) : "")), codeButton(-1, "none of these", "0")), back);
}

async function continueWith(made) {
  try {
    task = await made;
    say("");
    showTask();
  } catch (error) {
    say(error.message);
  }
}

function code(number) {
  continueWith(send("/api/code", { coder, place: task.place, class: number }));
}

function goBack() {
  if (task && task.place > 0) continueWith(ask("/api/task", { coder, place: task.place - 1 }));
}

function onCoderKey(event) {
  if (!task || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  if (event.key === "b") goBack();
  const shown = acts.filter((one) => !one.hidden);
  if (event.key === "0") code(-1);
  else if (/^[1-9]$/.test(event.key) && shown[Number(event.key) - 1]) code(shown[Number(event.key) - 1].number);
}

function startCoders() {
  refreshAgreement();
  if (!$("#draw")) return;
  $("#draw").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      showAgreement(await send("/api/code", { size: Number($("#size").value) }));
      say("");
      $("#coder").focus();
    } catch (error) {
      say(error.message);
    }
  });
  $("#who").addEventListener("submit", (event) => {
    event.preventDefault();
    coder = $("#coder").value.trim();
    $("#who").hidden = true;
    continueWith(ask("/api/task", { coder })).then(() => ($("#who").hidden = task != null));
    $("#coder").blur();
  });
  document.addEventListener("keydown", onCoderKey);
}
