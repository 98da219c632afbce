// The act graph: a slider for the weakest arrow, and explanations in words.

const wholes = data.wording.whole + "s";
const answer = data.wording.answer;

function steps(number) {
  const step = data.wording.step;
  return number === 1 ? step : step === "reply" ? "replies" : step + "s";
}

// Numbers come rounded and formatted, so that they are the same everywhere.
function timesAs(times) {
  return (times.startsWith("1/") ? "only " + times : times + " times") + " as";
}

function edgeInWords(from, to, effect, times, share, usual, weight, replies) {
  const target = acts[to].name;
  const own = weight == null ? "" : "; weight in the model: " + (weight > 0 ? "+" : "") + weight.toFixed(2);
  if (from < 0) return "At the start of " + wholes + ", " + target + " is " + timesAs(times) + " likely as overall: " + share + " instead of " + usual + own + ".";
  const self = from === to ? target + " again" : target;
  return "After " + acts[from].name + ", " + self + " is " + timesAs(times) + " likely as usual: " + share + " instead of " + usual + " of " + answer + (replies == null ? "" : ", based on " + replies.toLocaleString("en") + " " + steps(replies)) + own + ".";
}

function nodeInWords(rank) {
  const act = acts[rank];
  const lines = [act.letter + ", " + act.name + ": " + act.share + " " + data.wording.share + "."];
  if (act.start) lines.push("At the start of " + wholes + " it is " + timesAs(act.start) + " likely as overall.");
  const strong = data.edges.filter((edge) => edge[2] >= 1.2).sort((a, b) => b[2] - a[2]);
  const list = (edges, end) => edges.slice(0, 3).map((edge) => acts[edge[end]].name + " (" + edge[3] + " times, " + edge[4] + " instead of " + edge[5] + ")").join(", ");
  const next = strong.filter((edge) => edge[0] === rank);
  const before = strong.filter((edge) => edge[1] === rank && edge[0] >= 0 && edge[0] !== rank);
  if (next.length) lines.push("It leads to " + list(next, 1) + ".");
  if (before.length) lines.push("It comes after " + list(before, 0) + ".");
  return lines.join(" ");
}

function showEdges() {
  const least = data.steps[Number($("#least").value)];
  const less = $("#show-less").checked;
  $("#least-said").textContent = String(least);
  $("#least").setAttribute("aria-valuetext", least + " times as likely as usual");
  for (const edge of all(".edge")) {
    const effect = Number(edge.dataset.effect);
    const weak = Math.max(effect, 1 / Math.max(effect, 1e-9)) < least;
    edge.classList.toggle("hidden", weak || (effect < 1 && !less));
  }
}

function light(picture, rank) {
  picture.classList.add("busy");
  for (const edge of picture.querySelectorAll(".edge")) {
    const ends = [Number(edge.dataset.from), Number(edge.dataset.to)];
    edge.classList.toggle("lit", ends.includes(rank));
  }
  const near = new Set([rank]);
  for (const edge of picture.querySelectorAll(".edge.lit:not(.hidden)")) {
    near.add(Number(edge.dataset.from)).add(Number(edge.dataset.to));
  }
  for (const node of picture.querySelectorAll(".node")) {
    node.classList.toggle("lit", near.has(Number(node.dataset.node)));
  }
}

function showTip(text, x, y) {
  const tip = $("#tip");
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(x + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
  tip.style.left = Math.max(8, left) + window.scrollX + "px";
  tip.style.top = y + 18 + window.scrollY + "px";
}

function startGraph() {
  if (!$("#least")) return; // documents have no graph
  $("#least").addEventListener("input", showEdges);
  $("#show-less").addEventListener("change", showEdges);
  showEdges();
  const byEnds = new Map(data.edges.map((edge) => [edge[0] + " " + edge[1], edge]));
  for (const picture of all(".act-graph")) {
    const calm = () => {
      picture.classList.remove("busy");
      $("#tip").hidden = true;
    };
    for (const edge of picture.querySelectorAll(".edge")) {
      const words = () => edgeInWords(...byEnds.get(edge.dataset.from + " " + edge.dataset.to));
      edge.addEventListener("pointermove", (event) => showTip(words(), event.clientX, event.clientY));
      edge.addEventListener("pointerenter", () => ($("#said").textContent = words()));
      edge.addEventListener("pointerleave", calm);
    }
    for (const node of picture.querySelectorAll(".node")) {
      const rank = Number(node.dataset.node);
      const point = () => {
        light(picture, rank);
        $("#said").textContent = nodeInWords(rank);
      };
      const open = () => followNode(rank);
      node.addEventListener("pointerenter", point);
      node.addEventListener("focus", point);
      node.addEventListener("pointerleave", calm);
      node.addEventListener("blur", calm);
      node.addEventListener("click", open);
      node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          open();
        }
      });
    }
  }
}
