// Start everything, and open what the address asks for.

// Where circles of the graph lead.
function followNode(rank) {
  goTo("act-" + acts[rank].letter);
}

function startWhereLinked() {
  const state = new URLSearchParams(location.hash.slice(1));
  const thread = Number(state.get("thread"));
  if (state.has("thread") && threads[thread]) {
    const place = Number(state.get("message"));
    openThread(thread, state.has("message") && place < threads[thread][2] ? place : null, "");
  }
}

startNames();
startGraph();
startGroups();
startReader();
startPictures();
startRelevance();
startTheme();
startScrolling();
startLinks();
startWhereLinked();
document.documentElement.dataset.ready = "yes";
