// Elements, numbers, hints. What comes from run files only ever becomes text, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  for (const child of children.flat(3))
    if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
const list = (x) => (Array.isArray(x) ? x : []);
const records = (x) => list(x).filter((r) => r !== null && typeof r === "object" && !Array.isArray(r));
const numbers = (x) => list(x).filter(isNumber);
const interval = (x) => (numbers(x).length === 2 ? x : null);
const text = (x) => (x === null || x === undefined ? "" : typeof x === "string" ? x : JSON.stringify(x));
// The first of several spellings that is a number, and that is anything at all.
const num = (o, ...keys) => { for (const k of keys) if (o && isNumber(o[k])) return o[k]; return null; };
const any = (o, ...keys) => { for (const k of keys) if (o && o[k] !== undefined && o[k] !== null) return o[k]; return null; };

// Four significant figures, thousands apart; a dash where there is no number.
function show(x, digits = 4) {
  if (!isNumber(x)) return "–";
  if (x === 0) return "0";  // minus zero too
  if ((Math.abs(x) < 1e-4 || Math.abs(x) >= 1e12)) return x.toExponential(2);
  return x.toLocaleString("en-US", Math.abs(x) >= 10 ** digits ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits });
}
const percent = (x, digits = 1) => (isNumber(x) ? (100 * x).toFixed(digits) + "%" : "–");
function bytes(x) {
  if (!isNumber(x)) return "–";
  let i = 0;
  for (; Math.abs(x) >= 1024 && i < 5; ++i) x /= 1024;
  return show(x, 3) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][i];
}
function nanoseconds(x) {
  if (!isNumber(x)) return "–";
  for (const [limit, unit] of [[1e3, "ns"], [1e6, "µs"], [1e9, "ms"]]) if (x < limit) return show(x / (limit / 1e3), 3) + " " + unit;
  return show(x / 1e9, 3) + " s";
}
const clip = (t, n) => (t.length > n ? t.slice(0, n - 1) + "…" : t);

// Hints: one box for all; pointer and keyboard reach the same words.
const tip = document.getElementById("tip");
function placeTip(x, y, words) {
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(x + 12, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
}
function hint(node, words, reachable = true) {
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", words.replace(/\n/g, ", "));
  if (reachable) node.setAttribute("tabindex", "0");
  node.addEventListener("pointermove", (e) => placeTip(e.clientX, e.clientY, words));
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    placeTip(box.left + box.width / 2, box.bottom - 8, words);
  });
  node.addEventListener("blur", () => { tip.hidden = true; });
  return node;
}
addEventListener("keydown", (e) => { if (e.key === "Escape") tip.hidden = true; });
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

// A table; columns whose cells are figures stand right.
const figure_like = /^[≥≤~<>+\-−–]?\s*[\d.,\s]+\s*(%|×|x|ms|µs|ns|s|J|W|GB\/s|tok\/s|[KMGT]i?B|B)?( ± [\d.,]+\s*\S{0,6})?( \(.*\))?$/;
function table(columns, rows) {
  const right = columns.map((_, i) => {
    const cells = rows.map((r) => text(r[i]).trim()).filter((c) => c !== "" && c !== "–" && c !== "-");
    return i > 0 && cells.length > 0 && cells.filter((c) => figure_like.test(c)).length >= 0.6 * cells.length;
  });
  const cell = (tag, c, i) => h(tag, { class: right[i] ? "num" : null, scope: tag === "th" ? "col" : null }, text(c));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((c, i) => cell("th", c, i)))),
    h("tbody", {}, rows.map((r) => h("tr", { class: /^total\b/i.test(text(r[0])) ? "total" : null },
      columns.map((_, i) => cell("td", r[i], i)))))));
}
const legend = (entries) => h("ul", { class: "legend" }, entries.map(([colour, name]) => {
  const swatch = h("i");
  swatch.style.background = colour;
  return h("li", {}, swatch, name);
}));
