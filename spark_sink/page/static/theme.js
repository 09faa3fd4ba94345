// Runs before the first paint, so that a chosen theme never flashes the other one.
// Without a choice the page follows the system (prefers-color-scheme), also when that changes.
(() => {
  const KEY = "tinyssb-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage switched off: the page follows the system, the toggle holds until reload
    }
  }

  function remember(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // as above: nothing to keep it in
    }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    const other = theme === "dark" ? "light" : "dark";
    if (button) button.setAttribute("aria-label", `Switch to the ${other} theme`);
  }

  const wanted = () => stored() || (system.matches ? "dark" : "light");
  apply(wanted());
  system.addEventListener("change", () => apply(wanted()));

  document.addEventListener("DOMContentLoaded", () => {
    apply(root.dataset.theme);
    document.getElementById("theme").addEventListener("click", () => {
      const theme = root.dataset.theme === "dark" ? "light" : "dark";
      remember(theme);
      apply(theme);
    });
  });
})();
