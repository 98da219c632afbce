// Fitting again: a process in the background, watched until it can be taken or left.

let watching = null;

const DOING = { starting: "Starting …", running: "Fitting …", comparing: "Comparing with the old fit …", stopped: "Stopped; it can continue from there.", done: "The new fit is ready. Nothing has changed yet.", none: "" };
const shareOrNone = (value) => (value == null ? "–" : percent(value));

function versionTable(found) {
  const bold = (name) => (name == null ? "–" : make("bdi", {}, name));
  const change = (row) => (row.before == null || row.after == null ? "" : points(row.after - row.before));
  const rows = found.classes.map((row) => make("tr", {}, make("th", { scope: "row" }, bold(row.old)), cell(shareOrNone(row.before)), cell(bold(row.new)), cell(shareOrNone(row.after)), cell(change(row)), cell(shareOrNone(row.kept))));
  const heads = ["Before", "share", "After", "share", "points", "stayed"];
  return make("div", { class: "scroll" }, make("table", { class: "compared versions" }, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows)));
}

function versionWords(found) {
  const said = [percent(found.same) + " of " + plural(found.messages, "message") + " are of the same act as before" + (found.kappa == null ? "." : " (kappa " + found.kappa.toFixed(2) + ").")];
  if (found.marks.of) said.push("Of " + plural(found.marks.of, "message") + " that you judged, " + found.marks.after + " are as you said (before: " + found.marks.before + ").");
  if (found.lost.length) said.push("Without a counterpart: " + found.lost.join(", ") + ". Their names are not carried over.");
  return said.map((words) => make("p", {}, words));
}

function moveItem(move) {
  return make("li", {}, plural(move.messages, "message") + " from ", make("b", { dir: "auto" }, move.from), " to ", make("b", { dir: "auto" }, move.to), make("ul", {}, ...move.examples.map((text) => make("li", { dir: "auto" }, text))));
}

function showRefit(now) {
  const busy = ["starting", "running", "comparing"].includes(now.state);
  document.documentElement.dataset.refit = now.state;
  $("#refit-start").hidden = busy;
  $("#refit-start").textContent = now.state === "stopped" ? "Continue" : "Fit again";
  $("#refit-start").disabled = now.state === "done";
  $("#refit-stop").hidden = !busy;
  $("#refit-take").hidden = now.state !== "done";
  $("#refit-leave").hidden = !["done", "stopped", "failed"].includes(now.state);
  $("#refit-progress").hidden = !busy;
  $("#refit-progress").value = now.of ? now.sweep / now.of : 0;
  const plan = now.plan && now.plan.classes ? " " + now.plan.classes + " acts, " + plural(now.plan.marked, "message") + " that you marked, " + plural(now.plan.sure, "sure message") + ", words for " + plural(Object.keys(now.plan.seeds).length, "act") + "." + now.plan.left_out.map((why) => " " + why + ".").join("") : "";
  const far = now.state === "running" && now.of ? " Sweep " + now.sweep + " of " + now.of + "." : "";
  $("#refit-state").textContent = (now.state === "failed" ? "The fit failed: " + now.error : DOING[now.state]) + far + (now.state === "none" ? "" : plan);
  const found = now.comparison;
  $("#refit-found").replaceChildren(...(found && found.classes ? [...versionWords(found), versionTable(found), make("h3", {}, "What moved"), make("ol", { class: "moves" }, ...found.moves.map(moveItem))] : []));
  clearTimeout(watching);
  if (busy) watching = setTimeout(lookAgain, 700);
}

async function lookAgain() {
  try {
    showRefit(await ask("/api/refit"));
  } catch (error) {
    say(error.message);
  }
}

async function refitting(content) {
  try {
    showRefit(await send("/api/refit", content));
    say("");
  } catch (error) {
    say(error.message);
  }
}

// As many acts as there are now, unless another number is typed.
function showSize() {
  if ($("#refit-size")) $("#refit-size").placeholder = acts.length;
}

function startRefit() {
  if (!$("#refit")) return;
  const size = $("#refit-size");
  showSize();
  $("#refit-start").addEventListener("click", () => refitting({ do: "start", classes: Number(size.value) || null }));
  $("#refit-stop").addEventListener("click", () => refitting({ do: "stop" }));
  $("#refit-leave").addEventListener("click", () => refitting({ do: "leave" }));
  $("#refit-take").addEventListener("click", async () => {
    $("#refit-take").disabled = true;
    $("#refit-state").textContent = "Taking it, and making the overview …";
    await refitting({ do: "take" });
    location.reload();
  });
  lookAgain();
}
