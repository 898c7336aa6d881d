"use strict";
const cells = document.getElementById("cells");
const body = cells.tBodies[0];
const key = (row, column) => row.cells[column].dataset.sort;
cells.tHead.addEventListener("click", (event) => {
  const heading = event.target.closest("th");
  if (!heading) return;
  const column = heading.cellIndex;
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...body.rows];
  const numbers = rows.every((row) => key(row, column) !== "" && !Number.isNaN(Number(key(row, column))) || key(row, column) === "nan");
  rows.sort((one, other) => {
    const [a, b] = [key(one, column), key(other, column)];
    const order = numbers ? (Number(a) || 0) - (Number(b) || 0) : a.localeCompare(b);
    return down ? -order : order;
  });
  body.append(...rows);
});
document.getElementById("find").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
});
