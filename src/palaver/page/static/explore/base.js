// The workbench: asking the server, and links from numbers to their messages.

const numberOf = (rank) => acts[rank].number;
const rankOf = (number) => acts.findIndex((act) => act.members.includes(number));

function say(problem) {
  const place = $("#problem");
  place.textContent = problem || "";
  place.hidden = !problem;
}

// Ask the server; mistakes come back in words and are shown at the top.
async function ask(path, params, options) {
  const query = params ? "?" + new URLSearchParams(params) : "";
  let answer;
  try {
    answer = await fetch(path + query, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer; is palaver explore still running?");
  }
  const text = await answer.text();
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(text.slice(0, 300) || "The server answered with " + answer.status + ".");
  }
  if (!answer.ok) {
    const problem = new Error(found.error || "The server answered with " + answer.status + ".");
    problem.found = found;
    throw problem;
  }
  return found;
}

function send(path, content) {
  return ask(path, null, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
}

function searchLink(params) {
  const kept = Object.entries(params).filter(([, value]) => value != null && value !== "");
  return "/search?" + new URLSearchParams(kept);
}

function visit(params) {
  location.href = searchLink(params);
}

// A link to messages; a script that fails leaves a plain word.
function linked(params, ...children) {
  return make("a", { href: searchLink(params), class: "to-messages" }, ...children);
}

// Make an element of another kind a link that mouse and keyboard can follow.
function follow(element, params, said) {
  element.classList.add("followed");
  if (said) element.setAttribute("aria-label", said);
  element.addEventListener("click", () => visit(params));
}

function plural(number, noun) {
  return number.toLocaleString("en") + " " + noun + (number === 1 ? "" : "s");
}
