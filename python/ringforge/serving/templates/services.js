// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
// Asks for what is known every second, and changes what has changed. All texts go in as text.
"use strict";
const EVERY = 1000;
const WORDS = {
  ready: "ready", busy: "computing", stopping: "stopping", silent: "silent", dead: "dead", unreachable: "unreachable",
};
const $ = id => document.getElementById(id);

function element(kind, name, text) {
  const e = document.createElement(kind);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}
function count(v) { return Math.round(v).toLocaleString("en"); }
function size(v) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (v < 1023.5) return (Number.isInteger(v) ? v : v < 99.5 ? v.toPrecision(v < 9.95 ? 2 : 3) : Math.round(v)) + " " + unit;
    v /= 1024;
  }
  return v.toPrecision(3) + " TiB";
}
function time(v) {
  if (v === null) return "–";
  if (v < 0.0995) return (v * 1e3).toPrecision(2) + " ms";
  if (v < 59.5) return v.toPrecision(2) + " s";
  return span(v);
}
function span(v) {
  v = Math.round(v);
  if (v < 60) return v + " s";
  if (v < 3600) return Math.floor(v / 60) + " min " + (v < 600 ? v % 60 + " s" : "");
  if (v < 86400) return Math.floor(v / 3600) + " h " + Math.floor(v % 3600 / 60) + " min";
  return Math.floor(v / 86400) + " d " + Math.floor(v % 86400 / 3600) + " h";
}

// Children of a box by key: new ones are made, old ones changed, those that have gone removed, the order kept.
function sync(box, keys, make, change) {
  const old = new Map([...box.children].map(c => [c.dataset.key, c]));
  keys.forEach((key, i) => {
    let child = old.get(key);
    if (child === undefined) { child = make(); child.dataset.key = key; }
    old.delete(key);
    if (box.children[i] !== child) box.insertBefore(child, box.children[i] || null);
    change(child, i);
  });
  while (box.children.length > keys.length) box.lastElementChild.remove();
}
function say(e, text) { if (e.textContent !== text) e.textContent = text; }

function makeService() {
  const a = element("article"), head = element("div", "head");
  head.append(element("h2"), element("span", "address"), element("span", "state"));
  const work = element("section", "work"), quotas = element("section", "quotas"), calls = element("section", "calls");
  work.append(element("h3", "", "Work"), element("div", "list"));
  const table = (titles) => {
    const wide = element("div", "wide"), t = element("table"), row = t.createTHead().insertRow();
    for (const title of titles) row.append(element("th", "", title));
    t.append(element("tbody")); wide.append(t);
    return wide;
  };
  quotas.append(element("h3", "", "Asked for today"), table(["", "by all", "clients", "one may"]));
  calls.append(element("h3", "", "Calls"), table(["", "done", "failed", "median", "90 %", "99 %", "in", "out"]));
  a.append(head, element("p", "trouble"), element("div", "tiles"), work, quotas, calls, element("div", "facts"));
  return a;
}

function tiles(s, now) {
  const found = [];
  for (const [name, q] of Object.entries(s.queues))
    found.push([name + " waiting", count(q.waiting), q.most ? "of " + count(q.most) : ""]);
  found.push(["calls under way", count(s.under_way), ""]);
  for (const [name, u] of Object.entries(s.uses)) {
    const show = name === "sessions" ? count : size;
    found.push([name, show(u.used), u.most ? "of " + show(u.most) : ""]);
  }
  if (s.resident) found.push(["process", size(s.resident), ""]);
  found.push([gone(s) ? "was up" : "up", span(Math.max(0, (gone(s) ? s.told : now) - s.started)), ""]);
  return found;
}
function gone(s) { return s.state === "dead" || s.state === "unreachable"; }

function rows(section, list) {
  section.hidden = !list.length;
  sync(section.querySelector("tbody"), list.map(r => r[0]), () => element("tr"), (row, i) => {
    list[i].forEach((cell, j) => {
      const td = row.cells[j] || row.insertCell();
      say(td, cell.text === undefined ? cell : cell.text);
      td.className = cell.bad ? "bad" : "";
      td.title = cell.title || "";
    });
  });
}

function changeService(a, s, now) {
  a.className = gone(s) ? "gone" : "";
  const running = (s.work || []).filter(t => !t.waiting && !gone(s));
  const state = s.state === "ready" && running.length ? "busy" : s.state;
  say(a.querySelector("h2"), s.service);
  say(a.querySelector(".address"), s.address);
  const shown = a.querySelector(".state");
  const ago = s.told ? ", last heard of " + span(Math.max(0, now - s.told)) + " ago" : "";
  say(shown, WORDS[state] + (["dead", "silent", "unreachable"].includes(state) ? ago : ""));
  shown.className = "state " + state;
  const trouble = a.querySelector(".trouble");
  const ended = state === "dead" ? "Its process has ended without saying so: see its log, and start it again." : "";
  say(trouble, s.trouble || ended);
  trouble.hidden = !trouble.textContent;
  for (const part of a.querySelectorAll(".tiles, .work, .quotas, .calls, .facts")) part.hidden = !s.known;
  if (!s.known) return;

  const told = tiles(s, now);
  sync(a.querySelector(".tiles"), told.map(t => t[0]), () => {
    const tile = element("div", "tile");
    tile.append(element("b"), " ", element("small"), element("span"));
    return tile;
  }, (tile, i) => {
    for (const [e, text] of [["span", 0], ["b", 1], ["small", 2]]) say(tile.querySelector(e), told[i][text]);
  });

  const work = gone(s) ? [] : s.work;
  a.querySelector(".work").hidden = !work.length;
  sync(a.querySelector(".list"), work.map((t, i) => t.what + i), () => {
    const task = element("div", "task"), words = element("div", "words"), bar = element("progress");
    words.append(element("span"), element("span"));
    bar.max = 1;
    task.append(words, bar);
    return task;
  }, (task, i) => {
    const t = work[i], [what, left] = task.firstChild.children, bar = task.lastChild;
    say(what, t.what + (t.stage ? ": " + t.stage : "") + (t.waiting ? ", waits for " + count(t.waiting) : ""));
    const time = t.seconds_left >= 0 ? ", " + span(t.seconds_left) + " left" : "";
    say(left, t.waiting ? "" : Math.floor(100 * t.fraction) + " %" + time);
    bar.value = t.fraction;
    bar.hidden = t.waiting > 0;
    bar.setAttribute("aria-label", what.textContent);
  });

  rows(a.querySelector(".quotas"), Object.entries(s.quotas).map(([kind, q]) =>
    [kind, count(q.used), count(q.clients), count(q.each)]));
  rows(a.querySelector(".calls"), Object.entries(s.methods).map(([name, m]) => {
    const bad = Object.entries(m.outcomes).filter(([k]) => k !== "ok");
    const failed = bad.reduce((n, [, v]) => n + v, 0);
    return [name, count(m.outcomes.ok || 0),
      { text: count(failed), bad: failed > 0, title: bad.map(([k, v]) => k + " " + v).join(", ") },
      ...m.times.map(time), size(m.received), size(m.sent)];
  }));

  const facts = [...Object.entries(s.facts), ["process", String(s.pid)]];
  if (s.metrics) facts.push(["metrics", s.metrics]);
  sync(a.querySelector(".facts"), facts.map(f => f[0]), () => element("span"), (e, i) => say(e, facts[i].join(" ")));
}

async function refresh() {
  try {
    const answer = await fetch("/services.json", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const known = await answer.json(), list = known.services, alive = list.filter(s => !gone(s)).length;
    sync($("services"), list.map(s => s.id), makeService, (a, i) => changeService(a, list[i], known.now));
    const dead = list.length - alive;
    say($("about"), alive + (alive === 1 ? " service runs" : " services run") + (dead ? ", " + dead + " not" : ""));
    say($("trouble"), known.trouble);
    $("none").hidden = list.length > 0;
  } catch {
    say($("trouble"), "The page's own server does not answer: start `ringforge serve` again. What stands below is old.");
  }
  $("trouble").hidden = !$("trouble").textContent;
}
async function run() {
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise(done => setTimeout(done, EVERY));
  }
}
run();
