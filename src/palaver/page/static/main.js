// Start everything, and follow addresses within the page without losing what it remembers.

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
startTheme();
startScrolling();
startLinks();
startWhereLinked();
document.documentElement.dataset.ready = "yes";
