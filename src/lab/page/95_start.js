// Puts the page together and wires its three controls.
function assemble() {
  const main = document.getElementById("content"), contents = [];
  const models = [...new Set(runs.map(modelOf).filter(Boolean))], dates = runs.map((r) => text(r.head.started).slice(0, 10)).filter(Boolean).sort();
  const span = dates.length ? (dates[0] === dates[dates.length - 1] ? dates[0] : `${dates[0]} to ${dates[dates.length - 1]}`) : "";
  main.replaceChildren(h("h1", {}, document.title), h("p", { class: "lead" }, [models.slice(0, 4).join(", ") + (models.length > 4 ? ` and ${models.length - 4} more` : ""), runs.length === 1 ? "one run" : runs.length ? `${runs.length} runs` : "", span, records(data.history).length ? `${records(data.history).length} published results` : ""].filter(Boolean).join(" · ")));
  fill(main, {}, [glance()]);
  for (const [id, title, lead] of TOPICS) {
    const own = blocks.filter((b) => b.topic === id && !isMachine(b)), machine = id === "trust" ? machines() : null;
    if (!own.length && !machine) continue;
    contents.push([id, title]);
    main.append(h("section", { id, "aria-label": title }, h("h2", {}, title), lead ? h("p", { class: "lead" }, lead) : null, own.map(article), machine));
  }
  const history = historySection(runs);
  if (history) { contents.push(["history", "How has it changed?"]); main.append(history); }
  if (runs.length) { contents.push(["runs", "Where these numbers come from"]); main.append(provenanceSection(runs)); }
  main.append(h("footer", {}, `Written by tally lab report from ${list(data.files).length === 1 ? "one file" : list(data.files).length + " files"}. The page asks the network for nothing.`));
  document.getElementById("contents").append(h("ol", {}, contents.map(([id, title]) => h("li", {}, h("a", { href: "#" + id }, title)))));
  return contents;
}

function follow(contents) {
  const links = new Map(contents.map(([id]) => [id, document.querySelector(`nav a[href="#${id}"]`)]));
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) for (const [id, link] of links) link.setAttribute("aria-current", id === e.target.id ? "true" : "false");
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const [id] of contents) seen.observe(document.getElementById(id));
}

function controls() {
  const root = document.documentElement, button = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const label = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Change to ${now() === "dark" ? "light" : "dark"} colours`); };
  button.addEventListener("click", () => { root.dataset.theme = now() === "dark" ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  label();
  const unfold = document.getElementById("unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold tables" : "Show all tables";
    for (const d of document.querySelectorAll("main details")) d.open = open;
  });
}
const wanted = /theme=(dark|light)/.exec(location.hash);  // a link can ask for its colours
if (wanted) document.documentElement.dataset.theme = wanted[1];
const contents = assemble();
for (const draw of undrawn.splice(0)) draw();
follow(contents);
controls();
