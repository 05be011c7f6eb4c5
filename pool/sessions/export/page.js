"use strict";
(() => {
  const root = document.documentElement;
  const bar = document.getElementById("bar");
  const box = document.getElementById("search");
  const count = document.getElementById("count");
  const main = document.getElementById("main");
  const MOST_HITS = 5000;
  let hits = [];
  let at = -1;
  let timer = 0;

  bar.hidden = false;

  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
  });

  const unfold = (open) => main.querySelectorAll("details").forEach((one) => { one.open = open; });
  document.getElementById("unfold").addEventListener("click", () => unfold(true));
  document.getElementById("fold").addEventListener("click", () => unfold(false));

  function find() {
    const wanted = box.value.toLowerCase();
    hits = [];
    at = -1;
    if (wanted.length > 1) {
      const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() && hits.length < MOST_HITS) {
        const node = walker.currentNode;
        const text = node.data.toLowerCase();
        if (text.length !== node.data.length) continue;
        for (let i = text.indexOf(wanted); i >= 0 && hits.length < MOST_HITS; i = text.indexOf(wanted, i + wanted.length)) {
          const range = new Range();
          range.setStart(node, i);
          range.setEnd(node, i + wanted.length);
          hits.push(range);
        }
      }
    }
    show();
  }

  function show() {
    if (window.CSS && CSS.highlights) {
      CSS.highlights.set("hits", new Highlight(...hits));
      CSS.highlights.set("hit", new Highlight(...(at >= 0 ? [hits[at]] : [])));
    }
    const shown = hits.length === MOST_HITS ? `${MOST_HITS}+` : String(hits.length);
    count.textContent = box.value.length < 2 ? "" : at < 0 ? `${shown} found` : `${at + 1} of ${shown}`;
  }

  function step(by) {
    if (!hits.length) return;
    at = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    const element = hits[at].startContainer.parentElement;
    for (let one = element.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    element.scrollIntoView({ block: "center" });
    if (!(window.CSS && CSS.highlights)) {
      getSelection().removeAllRanges();
      getSelection().addRange(hits[at].cloneRange());
    }
    show();
  }

  box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 150); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); if (!hits.length) find(); step(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { box.value = ""; find(); box.blur(); }
  });

  function turn(by) {
    const all = [...main.querySelectorAll("article")];
    const top = bar.offsetHeight + 8;
    const passed = all.filter((one) => one.getBoundingClientRect().top < top - 1).length;
    const here = all.findIndex((one) => Math.abs(one.getBoundingClientRect().top - top) <= 1);
    const next = all[by > 0 ? (here >= 0 ? here + 1 : passed) : passed - 1];
    if (next) scrollTo({ top: scrollY + next.getBoundingClientRect().top - top });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") { event.preventDefault(); box.focus(); box.select(); }
    if (event.key === "j") turn(1);
    if (event.key === "k") turn(-1);
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...main.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((one) => { one.open = false; }); });
})();
