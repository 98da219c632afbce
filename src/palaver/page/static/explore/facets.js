// How many hits there are by act, by group and over time; everything narrows the search.

const SVG = "http://www.w3.org/2000/svg";

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// One line: a name, a bar, a count; a click adds the filter.
function facetLine(label, count, total, most, colour, changes, number) {
  const bar = make("span", { class: "fill-bar " + colour });
  bar.style.width = (100 * count) / Math.max(most, 1) + "%";
  const rate = total ? percent(count / total) : "";
  const button = make("button", { type: "button", title: count.toLocaleString("en") + (total ? " of " + total.toLocaleString("en") + " messages" : "") }, make("span", { class: "facet-name" }, ...label), make("span", { class: "facet-bar" }, bar), make("span", { class: "n" }, count.toLocaleString("en")), make("small", { class: "n rate" }, rate));
  button.addEventListener("click", () => change(changes));
  if (number != null) droppable(button, number);
  return make("li", {}, button);
}

function facetList(title, lines, more) {
  const list = make("ul", { class: "facet" }, ...lines);
  const rest = more ? [make("p", { class: "note" }, "and " + more.toLocaleString("en") + " more")] : [];
  return make("section", { class: "facet-box" }, make("h3", {}, title), list, ...rest);
}

function timeChart(found) {
  const [width, height, bottom] = [300, 84, 16];
  const most = Math.max(1, ...found.time.map(([, count]) => count));
  const step = width / found.time.length;
  const picture = draw("svg", { viewBox: "0 0 " + width + " " + height, class: "time-chart", role: "img", "aria-label": "Messages by " + found.period });
  found.time.forEach(([first, count, total], i) => {
    const tall = ((height - bottom - 4) * count) / most;
    const until = i + 1 < found.time.length ? dayBefore(found.time[i + 1][0]) : "";
    const bar = draw("g", { class: "period", tabindex: 0, role: "button", "aria-label": first + ": " + plural(count, "message") });
    bar.append(draw("rect", { x: i * step, y: 0, width: step, height: height - bottom, class: "hit-area" }), draw("rect", { x: i * step + step * 0.1, y: height - bottom - tall, width: step * 0.8, height: tall, class: "column" }));
    const title = draw("title", {});
    title.textContent = found.period + " from " + first + ": " + count.toLocaleString("en") + " of " + plural(total, "message") + (total ? " (" + percent(count / total) + ")" : "");
    bar.append(title);
    const narrow = () => change({ since: first, until });
    bar.addEventListener("click", narrow);
    bar.addEventListener("keydown", (event) => event.key === "Enter" && narrow());
    picture.append(bar);
  });
  const label = (x, anchor, words) => {
    const text = draw("text", { x, y: height - 4, class: "tick", "text-anchor": anchor });
    text.textContent = words;
    picture.append(text);
  };
  picture.append(draw("line", { x1: 0, x2: width, y1: height - bottom, y2: height - bottom, class: "axis" }));
  label(0, "start", found.time[0][0]);
  label(width, "end", found.time[found.time.length - 1][0]);
  return picture;
}

function dayBefore(date) {
  return new Date(Date.parse(date + "T00:00:00Z") - 86400000).toISOString().slice(0, 10);
}

function showFacets(found) {
  const most = Math.max(...found.acts, 1);
  const rateOf = (total) => (found.messages === found.of ? found.of : total); // without a filter, 100% would say nothing
  const byAct = acts.map((act, rank) => [act, found.acts[rank]]).filter(([act, count]) => count && !act.hidden).sort((a, b) => b[1] - a[1]);
  const boxes = [facetList("By " + data.wording.noun, byAct.map(([act, count]) => facetLine([make("span", { class: "badge " + act.colour }, act.letter), " ", make("bdi", {}, act.name)], count, rateOf(act.messages), most, act.colour, { act: act.number }, act.number)))];
  if (found.period && found.messages) boxes.push(make("section", { class: "facet-box wide" }, make("h3", {}, "Over time, by " + found.period), timeChart(found)));
  for (const group of found.groups) {
    if (!group.values.length) continue;
    const top = Math.max(...group.values.map(([, count]) => count));
    boxes.push(facetList("By " + group.field + (group.field === data.wording.noun ? " (column)" : ""), group.values.slice(0, 8).map(([name, count, all]) => facetLine([make("bdi", {}, name)], count, rateOf(all), top, "plain", { ["by." + group.field]: name })), group.others + Math.max(0, group.values.length - 8)));
  }
  $("#facets").replaceChildren(...boxes);
}
