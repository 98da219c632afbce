// Small helpers. Texts only ever become text nodes: nothing here parses HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const acts = data.acts;

function $(selector) {
  return document.querySelector(selector);
}

function all(selector) {
  return Array.from(document.querySelectorAll(selector));
}

// Make an element. Attributes are set by name; children are elements or strings.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGIT = new Map(Array.from(DIGITS, (digit, i) => [digit, i]));

// Read whole numbers that marks.py packed: five bits per character, 32 and above continue.
function unpack(text) {
  const numbers = [];
  let number = 0;
  let shift = 0;
  for (const character of text) {
    const digit = DIGIT.get(character);
    number += (digit & 31) * 2 ** shift;
    shift += 5;
    if (digit < 32) {
      numbers.push(number);
      number = 0;
      shift = 0;
    }
  }
  return numbers;
}

function percent(share) {
  return share > 0 && share < 0.005 ? "under 1%" : Math.round(100 * share) + "%";
}

// Mark what scrolls sideways by whether there is more on the right.
function startScrolling() {
  for (const box of all(".scroll")) {
    const look = () => {
      box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
      box.classList.toggle("moved", box.scrollLeft > 2);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
  }
}

function badge(rank) {
  return make("span", { class: "badge " + acts[rank].colour }, acts[rank].letter);
}

// A bar of pairs (rank, percent), as draw/bars.py makes it.
function shareBar(pairs) {
  const bar = make("span", { class: "bar", role: "img" });
  const said = [];
  for (let i = 0; i < pairs.length; i += 2) {
    const act = acts[pairs[i]];
    const piece = make("span", { class: act.colour, title: act.letter + " " + act.name + ": " + pairs[i + 1] + "%" });
    piece.style.width = pairs[i + 1] + "%";
    if (pairs[i + 1] >= 15) piece.textContent = act.letter;
    bar.append(piece);
    said.push(act.letter + " " + pairs[i + 1] + "%");
  }
  bar.setAttribute("aria-label", said.join(", ") || "no words with a class");
  return bar;
}

// Follow addresses within the page without losing what it remembers.
function goTo(id) {
  const place = document.getElementById(id);
  if (!place) return;
  const box = place.closest("details");
  if (box) box.open = true;
  if (!place.hasAttribute("tabindex") && !place.matches("a, button, input")) place.setAttribute("tabindex", "-1");
  place.scrollIntoView();
  place.focus({ preventScroll: true });
}

function startLinks() {
  for (const link of all('a[href^="#"]')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      goTo(link.getAttribute("href").slice(1));
    });
  }
}

function startTheme() {
  const button = $("#theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(isDark()));
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}
