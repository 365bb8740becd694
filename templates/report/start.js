// Resources by unit, clicks in lists, and the first drawing.
const SHOWN = 12;
function resources(title, what, others) {
  const groups = new Map();
  for (const [name, unit] of Object.entries(D.units)) if (unit[what]) {
    const members = alike[name] ?? [name], group = groups.get(members[0]) ?? {name, count: 0, n: 0};
    groups.set(members[0], {name: group.name, count: group.count + 1, n: group.n + unit[what]});
  }
  const rows = [...groups.values(), ...others.map(([name, n]) => ({name, count: 0, n}))].filter(r => r.n).sort((a, b) => b.n - a.n);
  if (!rows.length) return;
  const grid = make("div", "", "bars");
  const add = some => { for (const r of some) {
    const bar = make("div", "", "bar"), around = make("div");
    bar.style.width = 100 * r.n / rows[0].n + "%";
    around.append(bar);
    grid.append(r.count ? chooser(r.name, r.count > 1 ? `${r.count} alike: ${r.name} …` : r.name) : make("span", r.name), around, make("span", num(r.n), "n"));
  } };
  add(rows.slice(0, SHOWN));
  $("bits").append(make("h3", `${title}: ${num(rows.reduce((s, r) => s + r.n, 0))}`), grid);
  if (rows.length > SHOWN) {
    const more = make("button", `show ${num(rows.length - SHOWN)} smaller ones`);
    more.onclick = () => { add(rows.slice(SHOWN)); more.remove(); };
    $("bits").append(more);
  }
}
resources("On-chip bits", "bits", [["FIFOs between units", Object.values(D.channels).reduce((s, c) => s + c.bits, 0)]]);
resources("LUTs, estimated", "luts", D.other_luts);
if (!D.other_luts.length) $("bits").append(make("p", "LUTs were not estimated. stepgen report does it without --no-luts, for designs of up to 1,000 units that all have a circuit; stepgen synth counts them.", "dim"));
function picked(e) {
  const from = e.target.closest("[data-choose]");
  if (!from) return;
  if (from.dataset.from) look(+from.dataset.from, +from.dataset.to);
  choose(from.dataset.choose);
}
document.addEventListener("click", picked);
document.addEventListener("keydown", e => { if (e.key === "Enter" && e.target.matches("tr[data-choose]")) picked(e); });
panes[0].started = true;
if (D.waiting.length) panes[0].fit(); else panes[0].start();
// What limits longest is what one asks about first.
const limits = {};
for (const phase of D.why ? D.why.phases : []) limits[phase.unit] = (limits[phase.unit] || 0) + phase.last - phase.first;
const longest = Object.keys(limits).sort((a, b) => limits[b] - limits[a])[0];
if (longest) choose(longest); else draw();
$("blocked").hidden = true;
