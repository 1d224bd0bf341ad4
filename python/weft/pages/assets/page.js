"use strict";
// What every page has: light and dark, and tables that are sorted by a click on the head of a column.
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const changed = () => document.dispatchEvent(new Event("weft-theme"));
  document.querySelector("button.theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    changed();
  });
  system.addEventListener("change", changed);

  function sorted(table, column, head) {
    const falling = head.getAttribute("aria-sort") === "ascending";
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x !== null && y !== null) return x - y;
      if (x !== null || y !== null) return x === null ? 1 : -1;
      return a.cells[column].textContent.localeCompare(b.cells[column].textContent, undefined, { numeric: true });
    };
    const rows = [...table.tBodies[0].rows].sort(compare);
    table.tBodies[0].append(...(falling ? rows.reverse() : rows));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  }

  for (const table of document.querySelectorAll("table")) {
    if (!table.tHead || table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sorted(table, column, head));
    });
  }
})();
