// History: published results and the runs of this report, by model and test, over time.
function historySection(runs) {
  const found = new Map();  // model and test → engine → [{time, value, words}]
  const put = (model, test, engine, time, value, words) => {
    if (!isNumber(value) || !isNumber(time)) return;
    const key = model + "\u0000" + test;
    if (!found.has(key)) found.set(key, { model, test, engines: new Map() });
    const engines = found.get(key).engines;
    if (!engines.has(engine)) engines.set(engine, []);
    engines.get(engine).push({ x: time, y: value, words });
  };
  for (const line of records(data.history)) {
    const time = Date.parse(text(line.date));
    for (const [test, entry] of Object.entries(line.tests && typeof line.tests === "object" ? line.tests : {})) {
      if (entry === null || typeof entry !== "object") continue;
      for (const [engine, values] of Object.entries(entry))
        for (const v of numbers(values)) put(text(line.model), test, engine, time, v, lines(`${engine}, ${test}`, `${show(v)} tok/s`, text(line.date), clip(text(line.machine), 120), text(line.file)));
    }
  }
  for (const run of runs) {
    const time = Date.parse(text(run.head.started)), model = modelOf(run).replace(/\.gguf$/, "");
    for (const g of run.samples) if (/^(pp|tg)\d/.test(g.test) && /tok/.test(g.unit) && model)
      for (const v of g.values) put(model, g.test, g.variant || "tally", time, Array.isArray(v) ? v[0] : v, lines(`${g.variant || "tally"}, ${g.test}`, `${show(Array.isArray(v) ? v[0] : v)} tok/s`, text(run.head.started), `run ${run.at + 1}`));
  }
  const groups = [...found.values()].slice(0, 40);
  if (!groups.length) return null;
  const median = (v) => { const o = v.slice().sort((p, q) => p - q); return (o[(o.length - 1) >> 1] + o[o.length >> 1]) / 2; };
  const node = h("section", { id: "history" }, h("h2", {}, "How has it changed?"), h("p", { class: "lead" }, "Every published sample, and the runs of this report. A figure of one day has no line."));
  for (const group of groups) {
    const times = new Set([...group.engines.values()].flat().map((p) => p.x));
    const body = times.size < 2
      ? forest(`${group.model} ${group.test}`, null, [...group.engines].map(([engine, points], i) => {
        const values = points.map((p) => p.y), m = median(values);
        return { name: engine, mid: m, low: Math.min(...values), high: Math.max(...values), dots: values, colour: colour(i), note: `${show(m)} tok/s`, words: lines(engine, `median ${show(m)} tok/s of ${values.length}`, `smallest ${show(Math.min(...values))}, largest ${show(Math.max(...values))}`, points[0].words.split("\n").slice(2).join("\n")) };
      }), { zero: true, label: "tok/s" })
      : curves(`${group.model} ${group.test}`, null, [...group.engines].flatMap(([engine, points], i) => {
        const by = new Map();
        for (const p of points) by.set(p.x, (by.get(p.x) || []).concat(p));
        const middle = [...by].sort((p, q) => p[0] - q[0]).map(([x, ps]) => ({ x, y: median(ps.map((p) => p.y)), words: lines(`${engine}: median ${show(median(ps.map((p) => p.y)))} tok/s of ${ps.length}`, ps[0].words.split("\n").slice(2).join("\n")) }));
        return [{ name: engine, points: middle, colour: colour(i) }, { points: points.slice(0, 400), dots: true, colour: colour(i) }];
      }), { y: "tok/s", zero: true, formatX: (t) => new Date(t).toISOString().slice(0, 10) });
    node.append(fill(h("article", { class: "block" }, h("header", {}, h("h3", {}, `${group.model} · ${group.test}`))), {}, [body]));
  }
  if (found.size > 40) node.append(h("p", { class: "left-out" }, `${found.size - 40} further histories are in the files.`));
  return node;
}

// Where the numbers come from: every run with its head, and its raw samples.
function facts(object, depth = 0) {
  const rows = [];
  for (const [key, value] of Object.entries(object).slice(0, 200)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value) && depth < 3) {
      rows.push(...facts(value, depth + 1).map(([k, v]) => [`${key} ${k}`, v]));
    } else {
      const plain = list(value).every((x) => x === null || typeof x !== "object");
      rows.push([key, Array.isArray(value) && plain ? value.map(text).join(key === "argv" ? " " : ", ") : text(value)]);
    }
  }
  return rows;
}
function provenanceSection(runs) {
  const node = h("section", { id: "runs" }, h("h2", {}, "Where these numbers come from"), h("p", { class: "lead" }, "Each run with what it ran on. Every figure above names its run; the raw samples lie in its file."));
  for (const run of runs) {
    const rows = facts(run.head).filter(([k]) => !["schema", "kind", "run", "command"].includes(k));
    const sampled = run.samples.length && !run.results.some((r) => /^bench/.test(text(r.name))) ? samplesPlot(run.samples) : null;
    const columns = ["test", "variant", "phase", "n", "mean", "sd", "smallest", "largest", "unit"];
    node.append(h("article", { class: "run", id: run.anchor }, h("h3", {}, `Run ${run.at + 1}: ${[text(run.head.command), modelOf(run)].filter(Boolean).join(" · ") || run.id}`),
      h("dl", { class: "facts" }, [["run", run.id], ["file", run.file], ...rows].map(([k, v]) => [h("dt", {}, k.replace(/_/g, " ")), h("dd", { class: /sha|argv|^run$|^file$|commit|flags/.test(k) ? "mono" : null }, v || "–")])),
      Object.entries(run.omitted || {}).map(([what, n]) => h("p", { class: "left-out" }, `Left out here: ${show(n)} ${what}.`)),
      run.samples.length ? h("details", {}, h("summary", {}, `Samples: ${run.samples.length} groups`), sampled,
        table(columns, run.samples.slice(0, 500).map((g) => [g.test, g.variant, g.phase, String(g.n), show(g.mean), show(g.sd, 3), show(g.min), show(g.max), g.unit]))) : null));
  }
  return node;
}
