// The page: heading, what matters at a glance, sections by topic, history, and where every number comes from.
const TOPICS = [
  ["trust", "Can these numbers be trusted?", "Machine, weights, correctness with a planted fault, and what the same program shows against itself.", /^(fingerprint|machine|provenance|weights|verify|gate|correct|null)/],
  ["speed", "How fast is it?", "Prefill and decode, cold and sustained, with all samples.", /^(bench|sustain|cold|thermal|energy|menu|speed)/],
  ["time", "Where does the time go?", "One run taken apart; what cannot be attributed is shown, not hidden.", /^(explain|segment|roofline|unattributed|slope|dispatch|ablate|times_|microbenchmark)/],
  ["cost", "What does a token cost?", "Fixed and per-token cost, and how well the line holds where it was not fitted.", /^(fit|ceiling|slowdown|crossing)/],
  ["compare", "What changed, and who is ahead?", "Comparisons in alternated rounds, each with its null run.", /^(ab\b|ab_|bisect|reconcile|board|compare)/],
  ["gain", "What could still be gained?", "Estimates before any code is written, and what they rest on.", /^(whatif|batch|speculate|tokenizer|amdahl)/],
  ["machine", "What can this machine do?", null, /^(limits|table|latency)/],
  ["task", "What does a task take?", null, /^(agent|task)/],
  ["other", "Further results", null, /./],
];
const topicOf = (name) => TOPICS.find((t) => t[3].test(name))[0];
// "explain.decode" is drawn as "explain".
const drawer = (name) => DRAW[name] || DRAW[Object.keys(DRAW).find((k) => name.startsWith(k + "_") || name.startsWith(k + "-") || name.startsWith(k + " ") || name.startsWith(k + ".") || name.startsWith(k + ":")) || ""];
const runs = records(data.runs).map((r, i) => ({ ...r, at: i, anchor: "run-" + (i + 1), head: r.head || {}, samples: records(r.samples), results: records(r.results) }));
const modelOf = (run) => { const m = any(run.head, "model", "model_name", "file"); return text(m && typeof m === "object" ? any(m, "name", "path", "file") : m).split("/").pop(); };
const chip = (run) => h("a", { class: "chip", href: "#" + run.anchor, title: [run.id, text(run.head.started), modelOf(run), run.file].filter(Boolean).join("\n") }, `run ${run.at + 1} · ${[modelOf(run), text(run.head.command)].filter(Boolean).join(" · ") || run.id}`);

const blocks = runs.flatMap((run) => run.results.map((r, i) => ({ run, r, name: text(r.name), topic: topicOf(text(r.name)), anchor: `result-${run.at + 1}-${i + 1}`, values: r.values && typeof r.values === "object" ? r.values : {} })));

function picture(b) {
  const draw = drawer(b.name);
  if (!draw || b.r.valid === false) return null;
  try {
    const drawn = draw(b.values, b.r, b.run);
    return drawn && drawn.flat().filter(Boolean).length ? drawn : null;
  } catch (problem) {
    return [h("p", { class: "left-out" }, `The picture could not be drawn (${problem.message}); the table has the figures.`)];
  }
}
function article(b) {
  const t = b.r.table || {}, columns = list(t.columns), rows = list(t.rows).map(list), drawn = picture(b);
  const shown = columns.length && rows.length ? table(columns, rows) : null;
  const left_out = isNumber(b.r.rows_left_out) ? h("p", { class: "left-out" }, `${show(b.r.rows_left_out)} further rows are in ${b.run.file}.`) : null;
  return h("article", { class: "block", id: b.anchor, "aria-labelledby": b.anchor + "-title" },
    h("header", {}, h("h3", { id: b.anchor + "-title" }, text(b.r.title) || b.name), chip(b.run)),
    b.r.valid === false ? h("div", { class: "invalid" }, h("b", {}, "not valid: "), text(b.r.reason) || "no reason given") : null,
    text(b.r.verdict) ? h("p", { class: "verdict" }, text(b.r.verdict)) : null,
    drawn, shown && (drawn ? h("details", {}, h("summary", {}, `Table: ${rows.length} rows`), shown, left_out) : [shown, left_out]),
    list(b.r.notes).length ? h("ul", { class: "notes" }, list(b.r.notes).map((n) => h("li", {}, text(n)))) : null);
}

// What the machines did during all runs, in one table: each run writes a block of it.
const isMachine = (b) => b.name === "machine" && !list(b.r.table && b.r.table.rows).length;
function machines() {
  const own = blocks.filter(isMachine);
  if (!own.length) return null;
  const three = (v, digits = 3) => (Array.isArray(v) ? v.map((x) => show(x, digits)).join(" · ") : show(v, digits));
  const rows = own.map((b) => [`run ${b.run.at + 1} · ${text(b.run.head.command)}`, three(b.values.clock_mhz, 4), three(b.values.temp_c), three(b.values.load), percent(num(b.values, "steal_share")), show(num(b.values, "throttle_events")), list(b.r.notes).map(text).join("; ") || text(b.r.verdict)]);
  return h("article", { class: "block", id: "machines" }, h("header", {}, h("h3", {}, "The machine during each run"), h("a", { class: "chip", href: "#runs" }, "all runs")),
    table(["run", "MHz: start · middle · end", "°C", "load", "stolen", "throttled", "said"], rows));
}

function glance() {
  const cards = [], card = (b, what, big, unit, more) => cards.length < 8 && cards.push(h("div", {}, h("div", { class: "what" }, what), h("div", { class: "big" }, big, unit ? h("span", { class: "unit" }, unit) : null), h("div", { class: "what" }, more ? [more, " "] : null, h("a", { class: "chip", href: "#" + b.anchor }, `run ${b.run.at + 1}`))));
  const valid = blocks.filter((b) => b.r.valid !== false), first = (name) => valid.find((b) => b.name === name);
  const bench = valid.filter((b) => /^bench/.test(b.name)).slice(0, 1);
  for (const b of bench) for (const t of records(any(b.values, "tests", "rows")).slice(0, 3)) if (isNumber(num(t, "mean", "rate", "tok_s"))) card(b, text(any(t, "test", "name")), show(num(t, "mean", "rate", "tok_s")), "tok/s", isNumber(num(t, "sd")) ? `± ${show(num(t, "sd"), 2)}, n ${show(num(t, "n"))}` : null);
  const e = valid.find((b) => /^explain/.test(b.name) && segmentsOf(b.values).length);
  if (e) {
    const g = segmentsOf(e.values), total = g.reduce((sum, x) => sum + x.ms, 0), rest = g.find((x) => x.unattributed);
    if (total > 0) card(e, "largest segment", percent(g.filter((x) => !x.unattributed).sort((p, q) => q.ms - p.ms)[0]?.ms / total), null, g.filter((x) => !x.unattributed).sort((p, q) => q.ms - p.ms)[0]?.name);
    if (rest && total > 0) card(e, "unattributed", percent(rest.ms / total), null, show(rest.ms) + " ms");
  }
  const f = valid.find((b) => /^fit/.test(b.name));
  const own = f && (f.values.line && typeof f.values.line === "object" ? f.values.line : f.values);
  if (f && isNumber(num(own, "per_token_ms"))) {
    card(f, "cost of a prompt token", show(num(own, "per_token_ms"), 3), "ms", `fixed ${show(num(own, "fixed_ms"), 3)} ms`);
  }
  const a = first("ab");
  if (a && isNumber(num(a.values, "ratio", "geometric_mean"))) card(a, [text(a.values.test), "B over A"].filter(Boolean).join(" · "), show(num(a.values, "ratio", "geometric_mean")), "×", interval(any(a.values, "ratio_ci", "ci")) ? `${show(any(a.values, "ratio_ci", "ci")[0])} … ${show(any(a.values, "ratio_ci", "ci")[1])}` : null);
  const said = blocks.filter((b) => !isMachine(b) && (text(b.r.verdict) || b.r.valid === false));
  return [cards.length ? h("div", { class: "glance" }, cards) : null,
    said.length ? h("ul", { class: "verdicts", "aria-label": "Verdicts" }, said.slice(0, 60).map((b) => h("li", {}, h("span", { class: "dot" + (b.r.valid === false ? " off" : ""), role: "img", "aria-label": b.r.valid === false ? "not valid" : "valid" }),
      h("a", { class: "name", href: "#" + b.anchor }, text(b.r.title) || b.name), h("span", { class: "said" }, b.r.valid === false ? "not valid: " + text(b.r.reason) : text(b.r.verdict))))) : null,
    said.length > 60 ? h("p", { class: "left-out" }, `${said.length - 60} further verdicts stand below.`) : null];
}
