// Files to keep: what the page shows as pictures, tables and names.

function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "dominant-baseline", "display", "visibility"];

// A picture as text, with the colours that it has on the screen.
function pictureText(picture) {
  const copy = picture.cloneNode(true);
  const own = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(own[i]);
    for (const name of KEPT) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role"]) element.removeAttribute(name);
  });
  const box = picture.getBoundingClientRect();
  const view = picture.viewBox.baseVal;
  const space = "http://www.w3.org/2000/svg";
  const ground = document.createElementNS(space, "rect");
  const place = { x: view.x, y: view.y, width: view.width, height: view.height, fill: getComputedStyle(document.body).backgroundColor };
  for (const [name, value] of Object.entries(place)) ground.setAttribute(name, value);
  copy.prepend(ground);
  const size = { xmlns: space, width: Math.max(1, Math.round(box.width)), height: Math.max(1, Math.round(box.height)) };
  for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
}

function pictureName(picture) {
  const said = picture.getAttribute("aria-label") || document.title;
  return said.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture";
}

// A button below each picture; there is none for the small bars within lines of text.
function startPictures() {
  for (const picture of all("main svg")) {
    if (picture.parentElement.closest("svg, button, a")) continue;
    const name = pictureName(picture);
    const kind = picture.classList.contains("tall") || picture.classList.contains("narrow") ? " if-narrow" : picture.classList.contains("wide") ? " if-wide" : "";
    const button = make("button", { type: "button", class: "save-picture" + kind, "aria-label": "Save " + name + " as SVG" }, "Save picture");
    button.addEventListener("click", () => saveBlob(new Blob([pictureText(picture)], { type: "image/svg+xml" }), name + ".svg"));
    picture.after(button);
  }
}

// A cell of CSV; spreadsheets would take some texts for formulas.
function csvCell(value) {
  const text = value == null ? "" : String(value);
  return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" : "") + text.replaceAll('"', '""') + '"';
}

function saveCsv(rows, name) {
  const text = rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
  saveBlob(new Blob(["\ufeff" + text + "\r\n"], { type: "text/csv" }), name);
}
