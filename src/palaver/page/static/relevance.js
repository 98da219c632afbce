// Words of topics by relevance: from what sets a topic apart to what is most frequent in it.

const SHOWN_WORDS = 12;

function showRelevance() {
  const weight = Number($("#relevance").value) / 100;
  $("#relevance").setAttribute("aria-valuetext", Math.round(100 * weight) + "% frequency");
  data.relevance.forEach((own, rank) => {
    const place = $('[data-words="' + rank + '"]');
    if (!place) return;
    const score = ([, likely, lift]) => weight * likely + (1 - weight) * lift;
    const words = [...own].sort((a, b) => score(b) - score(a)).slice(0, SHOWN_WORDS);
    place.replaceChildren(...words.flatMap(([word], i) => [make("span", { class: i < 3 ? "s4" : i < 6 ? "s3" : "s2", dir: "auto" }, word), " "]));
  });
}

// All messages of a class, the strongest first, in the reader.
function startShowAll() {
  for (const button of all("[data-all]")) {
    button.addEventListener("click", () => {
      $("#only").value = button.dataset.all;
      $("#strongest").checked = true;
      showList();
      goTo("reader");
    });
  }
}

function startRelevance() {
  startShowAll();
  if ($("#relevance")) $("#relevance").addEventListener("input", showRelevance);
}
