// What is known of the chosen unit or channel.
let chosen = "";
const followers = [];
function choose(name) {
  chosen = name;
  for (const follow of followers) follow(name);
}
followers.push(name => {
  const box = $("details"), table = make("table");
  const say = (what, ...values) => {
    const row = table.insertRow(), cell = make("td");
    values.forEach((value, n) => { if (n) cell.append(", "); cell.append(value); });
    row.append(make("th", what), cell);
  };
  box.replaceChildren(make("h2", bare(name)), table);
  const unit = D.units[name], channel = D.channels[name], members = alike[name];
  if (unit) {
    say("kind", unit.kind);
    if (unit.operator) say("operator", unit.operator);
    if (unit.where) say("source", unit.where);
    if (unit.line) say("", make("code", unit.line));
    for (const stream of unit.streams) say("stream", make("code", stream));
    if (members) say("alike", ...members.slice(0, 12).map(m => chooser(m)), ...(members.length > 12 ? [`${members.length - 12} more`] : []));
    say("on-chip bits", num(unit.bits));
    if (unit.luts !== null) say("LUTs, estimated", num(unit.luts));
    say("reads", ...unit.inputs.map(c => chooser(c)));
    say("writes", ...unit.outputs.map(c => chooser(c)));
    for (const row of D.rows) if (row.unit === name) {
      const split = make("div", "", "split");
      for (const state of ["busy", "full"]) {
        const part = make("i", "", state);
        part.style.cssText = `width: ${100 * row[state] / N}%; order: ${state === "busy" ? 0 : 2}`;
        split.append(part);
      }
      const rest = make("i", "", "starved");
      rest.style.cssText = "flex: 1; order: 1";
      split.append(rest);
      box.append(make("h3", row.does), split,
        make("span", ["busy", "starved", "full"].map(s => `${s} ${num(row[s])} (${percent(row[s])})`).join(", ")));
    }
  } else if (channel) {
    say("from", chooser(channel.from));
    say("to", chooser(channel.to));
    if (channel.type) say("type", make("code", channel.type));
    say("carries", channel.carries);
    say("FIFO", `${num(channel.depth)} beats, ${channel.memory}`);
    say("bits", num(channel.bits));
    if (levels[name]) say("level", `${levels[name].mean.toFixed(2)} beats on average, ${num(levels[name].most)} at most`);
    if (D.remedy[name]) say("remedy", make("code", `--depth ${name.slice(1)}=${D.remedy[name]}`));
  }
  for (const w of D.waiting) if (w.unit === name || w.channel === name)
    box.append(make("p", `${w.unit} waits for ${w.channel.slice(1)}: ${w.state}, ${num(w.level)} of ${num(w.depth)} beats`, "problem"));
});
