// Start the view that is shown.

const THEME = "palaver-theme";

// Windows of the workbench share the choice of light or dark.
function keepTheme() {
  const kept = localStorage.getItem(THEME);
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  $("#theme").addEventListener("click", () => localStorage.setItem(THEME, document.documentElement.dataset.theme));
}

// On a phone the navigation scrolls sideways: the view that is shown is among what is seen.
function showCurrentView() {
  const current = $('.top a[aria-current="page"]');
  const room = current.parentElement;
  room.scrollLeft = current.offsetLeft - room.offsetLeft - (room.clientWidth - current.offsetWidth) / 2;
}

startTheme();
keepTheme();
showCurrentView();
startScrolling();
const view = document.body.dataset.view;
if (view === "overview") {
  startGraph();
  startGroups();
  startOverview();
}
if (view === "search") startSearch();
if (view === "curate") startCurate();
if (view === "compare") startCompare();
if (view === "coders") startCoders();
startPictures();
startLinks();
document.documentElement.dataset.ready = "yes";
