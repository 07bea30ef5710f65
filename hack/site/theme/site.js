// Theme, menu, search, and buttons that copy. Without it, all pages can be read.
(function () {
  "use strict";
  var script = document.currentScript, root = script.dataset.root, html = document.documentElement;

  // Before the page is painted. A browser may refuse to remember.
  function remembered() { try { return localStorage.getItem("theme"); } catch (e) { return null; } }
  function remember(theme) { try { localStorage.setItem("theme", theme); } catch (e) { /* it holds for this page */ } }
  if (remembered()) html.dataset.theme = remembered();

  document.addEventListener("DOMContentLoaded", function () {
    document.getElementById("theme").addEventListener("click", function () {
      var dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      html.dataset.theme = dark ? "light" : "dark";
      remember(html.dataset.theme);
    });

    var menu = document.getElementById("menu");
    menu.addEventListener("click", function () {
      menu.setAttribute("aria-expanded", String(document.body.classList.toggle("menu")));
    });
    var here = document.querySelector("nav [aria-current]");
    if (here) here.scrollIntoView({ block: "nearest" });

    copyButtons();
    search();
  });

  function copyButtons() {
    if (!navigator.clipboard) return;
    document.querySelectorAll("pre").forEach(function (pre) {
      var button = document.createElement("button");
      button.type = "button"; button.className = "copy"; button.textContent = "Copy";
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(commands(pre.querySelector("code") || pre)).then(function () {
          button.textContent = "Copied";
          setTimeout(function () { button.textContent = "Copy"; }, 1500);
        });
      });
      pre.append(button);
    });
  }

  // Of a block with prompts, what is typed.
  function commands(code) {
    var lines = code.textContent.split("\n"), typed = lines.filter(function (l) { return l.startsWith("$ "); });
    return typed.length ? typed.map(function (l) { return l.slice(2); }).join("\n") + "\n" : code.textContent;
  }

  function search() {
    var form = document.getElementById("search"), input = form.elements.q, box = document.getElementById("results"), loading = false;
    function load() {
      if (loading) return;
      loading = true;
      var index = document.createElement("script");
      index.src = root + "search.js";
      index.onload = show;
      document.head.append(index);
    }
    function show() {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      box.hidden = !words.length;
      box.replaceChildren();
      if (!words.length || !window.searchIndex) return;
      var hits = find(words);
      if (!hits.length) box.append(element("p", "Nothing has all of these words."));
      hits.forEach(function (hit) { box.append(result(hit, words)); });
    }
    input.addEventListener("focus", load);
    input.addEventListener("input", function () { load(); show(); });
    form.addEventListener("submit", function (e) {
      e.preventDefault();
      var first = box.querySelector("a");
      if (first) first.click();
    });
    document.addEventListener("keydown", function (e) {
      var typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey) { e.preventDefault(); input.focus(); }
      if (e.key === "Escape") { box.hidden = true; input.blur(); }
      if ((e.key === "ArrowDown" || e.key === "ArrowUp") && form.contains(document.activeElement)) {
        var links = [input].concat(Array.from(box.querySelectorAll("a"))), at = links.indexOf(document.activeElement);
        e.preventDefault();
        links[Math.min(Math.max(at + (e.key === "ArrowDown" ? 1 : -1), 0), links.length - 1)].focus();
      }
    });
    document.addEventListener("click", function (e) { if (!form.contains(e.target)) box.hidden = true; });
  }

  // Every word has to be there: best in the title of the page, then in the heading, then in the text.
  function find(words) {
    var hits = [];
    window.searchIndex.forEach(function (entry) {
      var title = entry[1].toLowerCase(), heading = entry[2].toLowerCase(), text = entry[3].toLowerCase(), score = 0;
      var all = words.every(function (w) {
        var s = (title.includes(w) ? 8 : 0) + (heading.includes(w) ? 6 : 0) + (heading === w ? 12 : 0) + (text.includes(w) ? 1 : 0);
        score += s;
        return s > 0;
      });
      // Reasons of decisions, and lists of fields, are for those who know what they look for.
      if (all) hits.push({ entry: entry, score: (score + (entry[0].includes("#") ? 0 : 2)) / (/\/(adr|reference)\//.test(entry[0]) ? 3 : 1) });
    });
    return hits.sort(function (a, b) { return b.score - a.score; }).slice(0, 20);
  }

  function result(hit, words) {
    var entry = hit.entry, link = document.createElement("a"), at = entry[3].toLowerCase().indexOf(words[0]);
    link.href = root + entry[0];
    link.append(element("span", entry[1] === entry[2] ? entry[1] : entry[1] + " › " + entry[2], words));
    link.append(element("small", entry[3].slice(Math.max(0, at - 40), Math.max(0, at - 40) + 160), words));
    return link;
  }

  // An element with text, in which the words are marked.
  function element(tag, text, words) {
    var e = document.createElement(tag), rest = text, lower = text.toLowerCase();
    var at = words ? lower.indexOf(words[0]) : -1;
    if (at < 0) { e.textContent = rest; return e; }
    var mark = document.createElement("mark");
    mark.textContent = text.slice(at, at + words[0].length);
    e.append(text.slice(0, at), mark, text.slice(at + words[0].length));
    return e;
  }
})();
