"use strict";
// Everything works without this file; it makes pages live, moves through the grid by keyboard, takes what is pasted
// from a spreadsheet, checks cells while they are typed, and keeps what was typed if the page is loaded again.

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

function later(work, wait) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, wait); };
}

function listen(address, changed, state = () => {}) {
  if (!address || !window.EventSource) return;
  const source = new EventSource(address);
  source.addEventListener("open", () => state(true));
  source.addEventListener("error", () => state(false));
  source.addEventListener("stopping", () => state(false));
  source.addEventListener("changed", changed);
  addEventListener("pagehide", () => source.close());
}

function live() {
  const now = $("#now");
  if (!now) return;
  const mark = $("#live");
  let open = false, stale = false;
  const refresh = later(async () => {
    if (document.hidden) { stale = true; return; }
    const answer = await fetch(now.dataset.now, { headers: { "x-part": "now" } }).catch(() => null);
    if (!answer || !answer.ok) return;
    const folded = $$("details", now).map((own) => own.open);
    now.innerHTML = await answer.text();
    sideways();
    $$("details", now).forEach((own, at) => { own.open = Boolean(folded[at]); });
    stale = false;
  }, 700);
  listen(now.dataset.events, refresh, (on) => {
    mark.className = `live soft small ${on ? "on" : "off"}`;
    mark.textContent = on ? "Live" : "Not connected; this page may be old.";
    if (on && open) refresh();
    open = open || on;
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) refresh(); });
}

function grid() {
  const form = $("form#grid");
  if (!form) return;
  const key = form.dataset.draft, fields = $$("input[data-cell]", form), said = $("#progress");
  const csrf = $("input[name=csrf]", form).value;
  const rows = new Map($$("tr[data-row]", form).map((row) => [row.dataset.row, row]));

  const inputs = (row) => $$("input[data-cell]", row);
  const filled = (row) => inputs(row).every((own) => own.value.trim() !== "" || own.name.startsWith("n."));
  function show(row, wrong, kind) {
    const note = $(".wrong", row);
    note.textContent = wrong || "";
    row.className = kind;
    inputs(row).forEach((own) => own.setAttribute("aria-invalid", String(Boolean(wrong) && kind !== "taken")));
  }
  function count() {
    const done = [...rows.values()].filter((row) => row.className !== "taken" && filled(row)).length;
    const bad = $$("input[aria-invalid=true]", form).length;
    said.textContent = `${done} of ${rows.size} filled in${bad ? `, ${bad} to look at` : ""}. Rows left empty stay open.`;
  }

  // drafts
  function keep() {
    const draft = {};
    fields.forEach((own) => { if (own.value.trim() && !own.disabled) draft[own.name] = own.value; });
    try {
      if (Object.keys(draft).length) localStorage.setItem(key, JSON.stringify(draft)); else localStorage.removeItem(key);
    } catch { /* a browser may forbid it */ }
  }
  try {
    const draft = JSON.parse(localStorage.getItem(key) || "{}");
    fields.forEach((own) => { if (!own.value && typeof draft[own.name] === "string") own.value = draft[own.name]; });
  } catch { /* or hold something else */ }
  const own = key.slice(0, key.lastIndexOf(" ") + 1); // rounds that are over need no drafts
  try {
    Object.keys(localStorage).forEach((name) => { if (name.startsWith(own) && name !== key) localStorage.removeItem(name); });
  } catch { /* a browser may forbid it */ }
  keep();

  // checks
  const doubtful = new Set();
  const check = later(async () => {
    const cells = {};
    doubtful.forEach((id) => {
      const row = rows.get(id);
      if (!filled(row)) { show(row, "", ""); return; }
      cells[id] = {};
      inputs(row).forEach((own) => { cells[id][own.name.slice(0, own.name.indexOf("."))] = own.value.trim(); });
    });
    doubtful.clear();
    const ids = Object.keys(cells);
    if (ids.length) {
      const answer = await fetch(form.dataset.faults, {
        method: "POST", headers: { "content-type": "application/json", "x-csrf-token": csrf }, body: JSON.stringify({ cells }),
      }).catch(() => null);
      if (answer && answer.ok) {
        const faults = await answer.json();
        ids.forEach((id) => show(rows.get(id), faults[id], faults[id] ? "" : "ok"));
      }
    }
    count();
  }, 350);
  function touched(own) { doubtful.add(own.dataset.cell); keep(); count(); check(); }
  form.addEventListener("input", (event) => { if (event.target.dataset.cell) touched(event.target); });

  // keyboard: down the column
  form.addEventListener("keydown", (event) => {
    const at = fields.indexOf(event.target);
    if (at < 0) return;
    const wide = inputs(event.target.closest("tr")).length;
    const step = { Enter: wide, ArrowDown: wide, ArrowUp: -wide }[event.key];
    if (!step || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    let to = at + step;
    while (fields[to] && fields[to].disabled) to += step;
    if (fields[to]) { fields[to].focus(); fields[to].select(); }
  });

  // paste: a column, or rows with their ids
  form.addEventListener("paste", (event) => {
    const start = fields.indexOf(event.target), text = event.clipboardData.getData("text");
    if (start < 0 || !/[\n\t]/.test(text.trim())) return;
    event.preventDefault();
    const lines = text.replace(/\r/g, "").split("\n");
    while (lines.length && !lines[lines.length - 1].trim()) lines.pop();
    let at = start, taken = 0;
    lines.forEach((line) => {
      const parts = line.split("\t").map((part) => part.trim());
      const id = parts.find((part) => rows.has(part));
      const own = id ? inputs(rows.get(id)) : fields.slice(at, at + (inputs(fields[at]?.closest("tr") || form).length || 1));
      if (!own.length || (!id && at >= fields.length)) return;
      const values = id ? parts.slice(-own.length) : parts.slice(-own.length);
      if (/^(measurement|outcome)$/i.test(values[0]) && !id) return;
      own.forEach((field, number) => {
        if (!field.disabled && values[number] !== undefined) { field.value = values[number]; touched(field); taken += 1; }
      });
      if (!id) at += own.length;
    });
    said.textContent = `${taken} cells pasted.`;
  });

  // what colleagues record meanwhile
  const others = later(async () => {
    const answer = await fetch(form.dataset.rows).catch(() => null);
    if (!answer || !answer.ok) return;
    const sheet = await answer.json(), open = new Set(sheet.rows.map((row) => row[0]));
    rows.forEach((row, id) => {
      if (open.has(id) || row.className === "taken") return;
      inputs(row).forEach((own) => { own.disabled = true; });
      show(row, "Recorded meanwhile.", "taken");
    });
    keep();
    count();
  }, 500);
  listen(form.dataset.events, others);
  fields.forEach((own) => { if (own.value && !own.name.startsWith("n.")) doubtful.add(own.dataset.cell); });
  if (doubtful.size) check();
  count();
}

function busy() {
  $$("form").forEach((form) => form.addEventListener("submit", (event) => {
    const own = event.submitter;
    setTimeout(() => { if (own) { own.disabled = true; own.setAttribute("aria-busy", "true"); } }, 0);
    setTimeout(() => { if (own) own.disabled = false; }, 8000);
  }));
  addEventListener("pageshow", () => $$("button[aria-busy]").forEach((own) => { own.disabled = false; }));
  $$("[data-print]").forEach((own) => own.addEventListener("click", () => print()));
}

function sideways() {  // what does not scroll needs no stop for the keyboard
  $$("[role=group][tabindex]").forEach((own) => { if (own.scrollWidth <= own.clientWidth) own.removeAttribute("tabindex"); });
}

function again() {
  const mark = $("[data-again]");
  if (!mark) return;
  mark.textContent = "Some are still being read; this page loads again by itself.";
  const timer = setTimeout(() => location.reload(), Number(mark.dataset.again));
  addEventListener("beforeunload", () => clearTimeout(timer)); // somebody goes on to another page
}

$(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });  // tabs scroll on a phone
live();
grid();
busy();
sideways();
again();
