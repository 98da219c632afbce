// Every picture can be saved, as SVG and PNG, with the colours that it has on the screen.

const KEPT_STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline", "display", "visibility"];
const SCALE = 2; // pixels of a PNG per pixel on the screen

function standalone(picture) {
  const copy = picture.cloneNode(true);
  const own = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(own[i]);
    for (const name of KEPT_STYLES) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role"]) element.removeAttribute(name);
  });
  const box = picture.getBoundingClientRect();
  const [width, height] = [Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height))];
  const view = picture.viewBox.baseVal;
  const space = "http://www.w3.org/2000/svg";
  const ground = document.createElementNS(space, "rect");
  const place = { x: view.x, y: view.y, width: view.width || width, height: view.height || height, fill: getComputedStyle(document.body).backgroundColor };
  for (const [name, value] of Object.entries(place)) ground.setAttribute(name, value);
  copy.prepend(ground);
  for (const [name, value] of Object.entries({ xmlns: space, width, height })) copy.setAttribute(name, value);
  return [new XMLSerializer().serializeToString(copy), width, height];
}

// Bars with what stands next to them, drawn as they are on the screen.
function drawnBars(room) {
  const space = "http://www.w3.org/2000/svg";
  const frame = room.getBoundingClientRect();
  const [width, height] = [Math.ceil(frame.width), Math.ceil(frame.height)];
  const picture = document.createElementNS(space, "svg");
  const add = (tag, attributes, words) => {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
    element.textContent = words || "";
    picture.append(element);
  };
  const write = (element, words) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const box = range.getBoundingClientRect();
    const style = getComputedStyle(element);
    const fits = (element.getBoundingClientRect().width + 1) / box.width;
    if (fits < 1 && words.length < 3) return; // a letter that its piece has no room for
    if (fits < 1) words = words.slice(0, Math.floor(words.length * fits) - 1) + "…";
    add("text", { x: box.left - frame.left, y: (box.top + box.bottom) / 2 - frame.top, fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight, "dominant-baseline": "central" }, words);
  };
  for (const [name, value] of Object.entries({ width, height, viewBox: "0 0 " + width + " " + height })) picture.setAttribute(name, String(value));
  add("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor });
  for (const piece of room.querySelectorAll(".bar > span")) {
    const box = piece.getBoundingClientRect();
    if (!box.width) continue;
    add("rect", { x: box.left - frame.left, y: box.top - frame.top, width: box.width, height: box.height, fill: getComputedStyle(piece).backgroundColor });
    if (piece.textContent) write(piece, piece.textContent);
  }
  for (const cell of room.querySelectorAll("th, td")) {
    if (cell.innerText.trim() && !cell.querySelector(".bar:not([hidden])")) write(cell, cell.innerText.trim().replace(/\s+/g, " "));
  }
  return [new XMLSerializer().serializeToString(picture), width, height];
}

function svgBlob(text) {
  return new Blob([text], { type: "image/svg+xml" });
}

function saveSvg([text], name) {
  saveBlob(svgBlob(text), name + ".svg");
}

// The only image that the policy allows is one that the script itself made (blob:): no request.
async function savePng([text, width, height], name) {
  const image = new Image();
  const address = URL.createObjectURL(svgBlob(text));
  try {
    image.src = address;
    await image.decode();
  } finally {
    URL.revokeObjectURL(address);
  }
  const canvas = make("canvas", { width: width * SCALE, height: height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("no picture");
  saveBlob(blob, name + ".png");
}

function pictureName(picture) {
  const said = picture.getAttribute("aria-label") || document.title;
  return said.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture";
}

function saveButtons(name, drawn, kind) {
  const button = (words, save) => {
    const made = make("button", { type: "button", title: "Save this picture as " + words, "aria-label": "Save " + name + " as " + words }, words);
    made.addEventListener("click", async () => {
      try {
        await save(drawn(), name);
      } catch {
        made.textContent = words + ": not possible here";
      }
    });
    return made;
  };
  return make("span", { class: "save-picture" + kind }, button("SVG", saveSvg), button("PNG", savePng));
}

// Buttons below each picture; there are none for the small bars within lines of text.
function startPictures() {
  for (const picture of all("main svg:not(.interval):not([data-saved])")) {
    if (picture.parentElement.closest("svg, button, a")) continue;
    picture.dataset.saved = "yes";
    const kind = picture.classList.contains("tall") || picture.classList.contains("narrow") ? " if-narrow" : picture.classList.contains("wide") ? " if-wide" : "";
    picture.after(saveButtons(pictureName(picture), () => standalone(picture), kind));
  }
  for (const room of all(".overview-bar:not([data-saved]), table.bars:not([data-saved])")) {
    room.dataset.saved = "yes";
    const name = room.dataset.by ? "shares-by-" + room.dataset.by : pictureName(room);
    room.after(saveButtons(room.matches("table") ? name : "shares", () => drawnBars(room), ""));
  }
}
