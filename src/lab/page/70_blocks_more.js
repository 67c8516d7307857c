// Further blocks.
DRAW.bench = (v, block, run) => {
  const tests = new Set(records(v.tests).map((t) => text(t.test))), own = run.samples.filter((g) => tests.size === 0 || tests.has(g.test));
  const units = [...new Set(own.map((g) => g.unit))];
  const out = units.map((u) => samplesPlot(own.filter((g) => g.unit === u))).filter(Boolean);
  return out.length ? out : null;
};
DRAW.sustain = (v, block, run) => {
  let rates = records(any(v, "rates", "points"));
  if (!rates.length) rates = run.samples.filter((g) => /^(cold|sustained)$/.test(g.phase) && (!v.target || g.variant === text(v.target)))
    .flatMap((g) => g.values.map((x, i) => ({ round: g.rounds[i], rate: Array.isArray(x) ? x[0] : x }))).sort((p, q) => p.round - q.round);
  const time = rates.length && rates.every((r) => isNumber(num(r, "t_s"))) ? "t_s" : null;
  const at = (r, i) => (time ? r.t_s : i + 1);
  const pick = (key, unit) => rates.map((r, i) => ({ x: at(r, i), y: num(r, ...key), words: lines(time ? `${show(at(r, i))} s` : `run ${i + 1}`, `${show(num(r, ...key))} ${unit}`) })).filter((p) => p.y !== null);
  const speed = pick(["rate", "tok_s", "value"], "tok/s"), out = [];
  if (speed.length > 1) out.push(...curves("Speed over time", "The lines are the cold and the sustained speed.", [{ points: speed }], { x: time ? "s" : "run", y: "tok/s", rules: [num(v, "cold"), num(v, "sustained")].filter(isNumber) }));
  for (const [key, label] of [[["clock_mhz"], "MHz"], [["power_w"], "W"], [["temp_c"], "°C"]]) {
    const points = pick(key, label);
    if (points.length > 1) out.push(...curves(label, null, [{ points, colour: "var(--b)" }], { x: time ? "s" : "run", y: label, height: 170 }));
  }
  return out.length ? out : null;
};
DRAW.batch = (v) => {
  const rows = records(any(v, "batches", "points")).filter((p) => isNumber(num(p, "sequences", "b")) && isNumber(num(p, "rate_tok_s", "rate"))), at = (p) => num(p, "sequences", "b"), rate = (p) => num(p, "rate_tok_s", "rate");
  if (rows.length < 2) return null;
  const series = [{ name: "measured", points: rows.map((p) => ({ x: at(p), y: rate(p), words: lines(`${show(at(p))} sequences at once`, `${show(rate(p))} tok/s together`, isNumber(num(p, "step_ms")) && `${show(p.step_ms)} ms a step`) })) }];
  const foreseen = rows.filter((p) => isNumber(num(p, "gain_before"))).map((p) => ({ x: at(p), y: rate(rows[0]) * p.gain_before, words: lines(`${show(at(p))} sequences at once`, `${show(rate(rows[0]) * p.gain_before)} tok/s foreseen from bytes`) }));
  if (foreseen.length > 1) series.push({ name: "foreseen from bytes alone", dashed: true, points: foreseen });
  return curves("Speed of all sequences together", null, series, { x: "sequences at once", y: "tok/s", zero: true });
};
DRAW.speculate = (v) => {
  const cases = records(v.cases).filter((c) => isNumber(num(c, "speed_up"))).map((c) => {
    const ci = interval(c.speed_up_ci), name = `${text(c.text_kind)}, ${show(num(c, "drafts"))} drafts`;
    return { name, mid: c.speed_up, low: ci ? ci[0] : null, high: ci ? ci[1] : null, dots: [num(c, "speed_up_foreseen")].filter(isNumber), note: `${show(c.speed_up)} ×`,
      words: lines(name, `${show(c.speed_up)} times as fast as plain`, ci && `interval ${show(ci[0])} to ${show(ci[1])}`, isNumber(num(c, "acceptance_per_position")) && `${percent(c.acceptance_per_position)} accepted per position`, isNumber(num(c, "speed_up_foreseen")) && `foreseen from acceptance and V(w): ${show(c.speed_up_foreseen)}`) };
  });
  if (cases.length) return [forest("What drafting brings, by kind of text", "The pale dot is what acceptance and the width table foresee.", cases, { rule: 1, label: "×" })];
  const widths = records(v.widths).map((p) => ({ x: num(p, "positions", "w"), y: num(p, "ms"), words: lines(`${show(num(p, "positions", "w"))} positions`, `${show(num(p, "ms"))} ms`, isNumber(num(p, "best")) && `best possible: ${show(p.best, 3)} times as fast`) })).filter((p) => isNumber(p.x) && isNumber(p.y));
  if (widths.length < 2) return null;
  const one = widths.find((p) => p.x === 1), series = [{ name: "measured V(w)", points: widths }];
  if (one) series.push({ name: "w single steps: drafting cannot pay above it", dashed: true, colour: "var(--faint)", points: widths.map((p) => ({ x: p.x, y: one.y * p.x, words: lines(`${show(p.x)} single steps`, `${show(one.y * p.x)} ms`) })) });
  return curves("Time of a forward over w positions", null, series, { x: "positions", y: "ms", zero: true });
};
function logBars(title, caption, rows, format) {
  const good = rows.filter((r) => r.value > 0);
  if (good.length < 2) return null;
  return [figure(title, caption, (svg, width) => {
    const names = width < 560 ? 0 : Math.min(230, width * 0.32), row = names ? 24 : 40, left = names, right = width - 90;
    const X = log(Math.min(...good.map((r) => r.value)) / 3, Math.max(...good.map((r) => r.value)), left, right);
    good.forEach((r, i) => {
      const y = i * row, bar = y + (names ? 3 : 18);
      svg.append(s("text", { class: "strong", x: 0, y: y + 14 }, clip(r.name, 34)), s("rect", { x: left, y: bar, width: Math.max(1, X(r.value) - left), height: 14, fill: "var(--a)", "fill-opacity": 0.75 }),
        s("text", { class: "strong", x: X(r.value) + 6, y: bar + 11 }, format(r.value)), hint(s("rect", { x: 0, y, width, height: row, fill: "transparent" }), lines(r.name, format(r.value))));
    });
    return good.length * row + 6;
  })];
}
DRAW.table = (v) => logBars("What things cost on this machine", "The scale is logarithmic: each step of the same length is the same factor.", records(any(v, "rows", "costs")).map((r) => ({ name: text(r.name), value: num(r, "ns") })), nanoseconds);
DRAW.limits = (v) => {
  const rows = records(any(v, "bandwidth", "points")).filter((r) => num(r, "bytes") > 0);
  const threads = [...new Set(rows.map((r) => num(r, "threads")))], series = [];
  for (const t of threads) for (const [key, name] of [["read_gb_s", "read"], ["copy_gb_s", "copy"]]) {
    const points = rows.filter((r) => num(r, "threads") === t && num(r, key) > 0).map((r) => ({ x: r.bytes, y: r[key], words: lines(`${bytes(r.bytes)}, ${name}${t === null ? "" : `, ${t} threads`}`, `${show(r[key])} GB/s`) }));
    if (points.length > 1) series.push({ name: name + (t === null ? "" : `, ${t} thread${t === 1 ? "" : "s"}`), points, dashed: key === "copy_gb_s" });
  }
  return series.length ? curves("Bandwidth by working set", null, series, { x: "working set", y: "GB/s", logX: true, formatX: bytes, zero: true }) : null;
};
DRAW.ablate = (v) => {
  const rows = records(any(v, "parts", "components")).filter((c) => isNumber(num(c, "saving_share", "saving"))).map((c) => {
    const saving = 100 * num(c, "saving_share", "saving"), sigma = num(c, "sigma") ?? (num(v, "base_ms") > 0 && isNumber(num(v, "sd_ms")) ? v.sd_ms / v.base_ms : null), half = isNumber(sigma) ? 300 * sigma : null;
    return { name: text(c.name), mid: saving, low: half === null ? null : saving - half, high: half === null ? null : saving + half, colour: c.live === true ? "var(--a)" : "var(--faint)", dots: isNumber(num(c, "expected_share")) ? [100 * c.expected_share] : [],
      note: show(saving, 3) + "%", words: lines(text(c.name), `saves ${show(saving, 3)} %`, isNumber(num(c, "expected_share")) && `expected ${show(100 * c.expected_share, 3)} %`, c.live === true ? "the switch is live" : "the switch is not shown to be live") };
  });
  return rows.length ? [forest("What leaving a component out saves", "The pale dot is the share that its recorded time promises; the bar is three times the noise.", rows, { rule: 0, label: "% of the time" })] : null;
};
DRAW.reconcile = (v) => {
  const rows = records(any(v, "categories", "rows")).map((c) => ({ name: text(c.name), a: num(c, "a_ms", "a"), b: num(c, "b_ms", "b") })).filter((c) => isNumber(c.a) && isNumber(c.b)).slice(0, 40);
  return rows.length ? [forest("Difference by category", "How much longer the first engine takes than the second, in each category.", rows.map((c) => ({ name: c.name, low: Math.min(0, c.a - c.b), high: Math.max(0, c.a - c.b), mid: c.a - c.b, colour: c.a > c.b ? "var(--b)" : "var(--a)",
    note: `${show(c.a, 3)} / ${show(c.b, 3)} ms`, words: lines(c.name, `${show(c.a)} against ${show(c.b)} ms`, `difference ${show(c.a - c.b)} ms`) })), { rule: 0, label: "ms" })] : null;
};
DRAW.tokenizer = (v) => {
  const rows = records(v.workloads).map((w) => ({ name: text(w.name), value: num(w, "mb_s", "ours") }));
  return logBars("Tokenizer speed by kind of text", "The scale is logarithmic.", rows, (x) => show(x, 3) + " MB/s");
};
DRAW.tokenizer_against = (v) => {
  const rows = records(v.workloads).filter((w) => isNumber(num(w, "speed_up"))).map((w) => ({ name: text(w.name), mid: w.speed_up, low: num(w, "low"), high: num(w, "high"), note: `${show(w.speed_up, 3)} ×`, words: lines(text(w.name), `${show(w.speed_up)} times as fast`, `interval ${show(num(w, "low"))} to ${show(num(w, "high"))}`) }));
  return rows.length ? [forest("Speed-up by kind of text", "Only where both give the same token ids.", rows, { rule: 1, zero: true, label: "×" })] : null;
};
DRAW.agent = (v) => {
  const parts = [];
  records(v.turns).forEach((t, i) => {
    for (const [key, name] of [["prefill_ms", "prompt"], ["decode_ms", "answer"], ["tool_ms", "tools"]])
      if (num(t, key) > 0) parts.push({ name: `turn ${i + 1}: ${name}`, ms: t[key], words: lines(`turn ${i + 1}: ${name}`, `${show(t[key])} ms`, key === "prefill_ms" ? `${show(num(t, "tokens_in"))} tokens in` : key === "decode_ms" ? `${show(num(t, "tokens_out"))} tokens out` : null) });
  });
  if (num(v, "residual_ms") > 0) parts.push({ name: "unattributed", ms: v.residual_ms, unattributed: true, words: `not explained\n${show(v.residual_ms)} ms` });
  return parts.length > 1 ? [timeBars("The task, turn by turn", "The hatched part is wall-clock time that neither tokens nor tools explain.", parts)] : null;
};
DRAW.menu = (v) => {
  const models = records(any(v, "models", "rows"));
  const out = [["prefill", "Prefill", "tok/s"], ["decode", "Decode", "tok/s"], ["task_s", "Task", "s"]].map(([key, name, unit]) => {
    const rows = models.filter((m) => isNumber(num(m, key))).map((m, i) => ({ name: text(any(m, "model", "name")), mid: m[key], low: interval(m[key + "_ci"]) ? m[key + "_ci"][0] : null, high: interval(m[key + "_ci"]) ? m[key + "_ci"][1] : null, colour: colour(i), note: `${show(m[key])} ${unit}`, words: lines(text(any(m, "model", "name")), `${name}: ${show(m[key])} ${unit}`) }));
    return rows.length ? forest(name, null, rows, { zero: true, label: `${name.toLowerCase()}, ${unit}` }) : null;
  }).filter(Boolean);
  return out.length ? out : null;
};
