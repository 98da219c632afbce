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
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const view = picture.viewBox.baseVal;
  const ground = draw("rect", { x: view.x, y: view.y, width: view.width || width, height: view.height || height, fill: getComputedStyle(document.body).backgroundColor });
  copy.prepend(ground);
  return [new XMLSerializer().serializeToString(copy), width, height];
}

function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function saveSvg(picture, name) {
  saveBlob(new Blob([standalone(picture)[0]], { type: "image/svg+xml" }), name + ".svg");
}

async function savePng(picture, name) {
  const [text, width, height] = standalone(picture);
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  URL.revokeObjectURL(address);
  const canvas = make("canvas", { width: width * SCALE, height: height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => saveBlob(blob, name + ".png"), "image/png");
}

function nameOf(picture) {
  const said = picture.getAttribute("aria-label") || document.title;
  return said.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "picture";
}

function startPictures() {
  for (const picture of all("main svg:not(.interval):not([data-saved])")) {
    if (picture.parentElement.closest("svg, button, a")) continue;
    picture.dataset.saved = "yes";
    const button = (words, save) => {
      const made = make("button", { type: "button", title: "Save this picture as " + words, "aria-label": "Save " + nameOf(picture) + " as " + words }, words);
      made.addEventListener("click", () => Promise.resolve(save(picture, nameOf(picture))).catch(() => say("The picture cannot be saved.")));
      return made;
    };
    picture.after(make("span", { class: "save-picture" }, button("SVG", saveSvg), button("PNG", savePng)));
  }
}
