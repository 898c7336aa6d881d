// Serious faults of a page, by the rules that axe-core calls serious or critical, as far as this page can have them.
(contrast) => {
  const faults = [];
  const say = (rule, own) => faults.push(`${rule}: ${own.outerHTML.slice(0, 120)}`);
  const shown = (own) => own.getClientRects().length > 0 && getComputedStyle(own).visibility !== "hidden";
  const name = (own) => (own.getAttribute("aria-label") || own.textContent || own.getAttribute("title") || "").trim();
  if (!document.documentElement.lang) faults.push("html-has-lang");
  if (!document.title.trim()) faults.push("document-title");
  if (document.querySelectorAll("main").length !== 1) faults.push("landmark-one-main");
  if (document.querySelectorAll("h1").length !== 1) faults.push("page-has-heading-one");
  let level = 0;
  document.querySelectorAll("h1,h2,h3,h4").forEach((own) => {
    const now = Number(own.tagName[1]);
    if (level && now > level + 1) say("heading-order", own);
    level = now;
  });
  const ids = [...document.querySelectorAll("[id]")].map((own) => own.id);
  ids.forEach((id, at) => { if (ids.indexOf(id) !== at) faults.push(`duplicate-id: ${id}`); });
  document.querySelectorAll("[aria-describedby]").forEach((own) => {
    if (!document.getElementById(own.getAttribute("aria-describedby"))) say("aria-valid-attr-value", own);
  });
  document.querySelectorAll("a[href],button").forEach((own) => { if (shown(own) && !name(own)) say("button-or-link-name", own); });
  document.querySelectorAll("input:not([type=hidden]),select,textarea").forEach((own) => {
    if (!own.labels?.length && !own.getAttribute("aria-label")) say("label", own);
  });
  document.querySelectorAll("svg").forEach((own) => {
    if (own.getAttribute("aria-hidden") !== "true" && (own.getAttribute("role") !== "img" || !name(own))) say("svg-img-alt", own);
  });
  document.querySelectorAll("img:not([alt])").forEach((own) => say("image-alt", own));
  document.querySelectorAll("ul,ol").forEach((own) => {
    if ([...own.children].some((child) => child.tagName !== "LI")) say("list", own);
  });
  document.querySelectorAll("dl").forEach((own) => {
    if ([...own.children].some((child) => !["DT", "DD", "DIV"].includes(child.tagName))) say("definition-list", own);
  });
  document.querySelectorAll("th").forEach((own) => { if (!own.scope) say("scope", own); });
  document.querySelectorAll("[tabindex]").forEach((own) => { if (own.tabIndex > 0) say("tabindex", own); });
  if (!contrast) return faults;

  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (c) => { const s = c / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (own) => {
    for (let at = own; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor).length === 3
      ? parse(getComputedStyle(document.documentElement).backgroundColor) : [255, 255, 255];
  };
  document.querySelectorAll("main *, header *, .tabs *").forEach((own) => {
    const text = [...own.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!text || !shown(own) || own.closest("svg") || own.disabled) return;
    const style = getComputedStyle(own), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const [a, b] = [light(parse(style.color)), light(behind(own))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) say(`color-contrast ${ratio.toFixed(2)}`, own);
  });
  return faults;
}
