// Copyright: (c) 2026, maintenance.azure contributors
// GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
(() => {
  const body = document.querySelector("tbody");
  const rows = Array.from(body.rows);
  const heads = Array.from(document.querySelectorAll("thead th"));
  const words = document.getElementById("words");
  const domain = document.getElementById("domain");
  const chips = Array.from(document.querySelectorAll(".chip"));
  const shown = document.getElementById("shown");
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.state);
    let count = 0;
    for (const row of rows) {
      const fits = (!states.length || states.includes(row.dataset.state))
        && (!domain.value || row.dataset.domain === domain.value)
        && wanted.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };

  const sort = (index) => {
    const descending = heads[index].getAttribute("aria-sort") === "ascending";
    heads.forEach((head, at) => {
      head.setAttribute("aria-sort", at !== index ? "none" : descending ? "descending" : "ascending");
    });
    const key = (row) => row.cells[index].dataset.key ?? row.cells[index].textContent;
    const keyed = rows.map((row) => [key(row), row]);
    keyed.sort((one, other) => collator.compare(one[0], other[0]) * (descending ? -1 : 1));
    // One by one: a call takes some ten thousand arguments at most.
    keyed.forEach((pair) => body.append(pair[1]));
  };

  // The page may be opened long after it was made: recompute the time left from now.
  const left = (seconds) => {
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    const days = Math.floor(hours / 24);
    if (days) { return `in ${days} d ${hours % 24} h`; }
    if (hours) { return `in ${hours} h ${minutes % 60} min`; }
    return `in ${minutes}:${String(Math.floor(seconds % 60)).padStart(2, "0")} min`;
  };
  const span = Number(document.querySelector("[data-span]").dataset.span);
  const count = () => {
    for (const due of document.querySelectorAll("[data-due]")) {
      const seconds = (Date.parse(due.dataset.due) - Date.now()) / 1000;
      due.textContent = seconds > 0 ? left(seconds) : "due now";
    }
    for (const bar of document.querySelectorAll("[data-until]")) {
      const seconds = Math.max(0, (Date.parse(bar.dataset.until) - Date.now()) / 1000);
      bar.style.width = `${100 * Math.log1p(seconds / 60) / Math.log1p(span / 60)}%`;
    }
  };

  for (const time of document.querySelectorAll("time")) {
    time.title = new Date(time.dateTime).toLocaleString();
  }
  heads.forEach((head, index) => head.querySelector("button").addEventListener("click", () => sort(index)));
  words.addEventListener("input", filter);
  domain.addEventListener("change", filter);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  filter();
  count();
  setInterval(count, 1000);
})();
