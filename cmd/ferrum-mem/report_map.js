"use strict";
// Zooms into the map of addresses, and reads its rectangles off. The corners of the
// rectangles are taken from the picture itself.
(function () {
  var format = window.ferrumFormat;
  var plot = document.querySelector("[data-map]");
  var box = plot.querySelector(".box");
  var svg = plot.querySelector("svg");
  var selection = plot.querySelector(".selection");
  var readout = document.querySelector('[data-readout="map"]');
  var side = Number(plot.dataset.side);
  var top = Number(plot.dataset.top);
  var first = Number(plot.dataset.first);
  var last = Number(plot.dataset.last);
  var axes = { x: plot.querySelector(".x-axis"), y: plot.querySelector(".y-axis") };
  var whole = { x: axes.x.innerHTML, y: axes.y.innerHTML };
  var view = { x: 0, y: 0, width: side, height: side };
  var smallest = side / 10000;
  var rectangles = [];

  plot.querySelectorAll("path").forEach(function (path) {
    var pattern = /M(\d+) (\d+)h(\d+)v(\d+)/g;
    var text = path.getAttribute("d");
    for (var found = pattern.exec(text); found; found = pattern.exec(text)) {
      rectangles.push({ x: +found[1], y: +found[2], width: +found[3], height: +found[4] });
    }
  });

  function timeAt(x) { return Math.round(first + (last - first) * x / side); }
  function bytesOf(height) { return Math.round(top * height / side); }

  function label(axis, style, percent, text) {
    var span = document.createElement("span");
    span.style[style] = percent + "%";
    span.textContent = text;
    axes[axis].appendChild(span);
  }

  function show(next) {
    view.width = Math.max(smallest, Math.min(side, next.width));
    view.height = Math.max(smallest, Math.min(side, next.height));
    view.x = Math.max(0, Math.min(side - view.width, next.x));
    view.y = Math.max(0, Math.min(side - view.height, next.y));
    svg.setAttribute("viewBox", [view.x, view.y, view.width, view.height].join(" "));
    if (view.width === side && view.height === side) {
      axes.x.innerHTML = whole.x;
      axes.y.innerHTML = whole.y;
      return;
    }
    axes.x.textContent = axes.y.textContent = "";
    for (var percent = 0; percent <= 100; percent += 25) {
      if (percent < 100) {
        label("x", "left", percent, format.time(timeAt(view.x + view.width * percent / 100)));
      }
      label("y", "bottom", percent, format.bytes(bytesOf(side - view.y - view.height * (1 - percent / 100))));
    }
  }

  // Makes the shown part so many times larger, with the point x, y (0 to 1) in its place.
  function zoom(factor, x, y) {
    var width = Math.max(smallest, Math.min(side, view.width * factor));
    var height = Math.max(smallest, Math.min(side, view.height * factor));
    show({ x: view.x + (view.width - width) * x, y: view.y + (view.height - height) * y, width: width, height: height });
  }

  function place(event) {
    var edges = box.getBoundingClientRect();
    function inside(share) { return Math.max(0, Math.min(1, share)); }
    return { x: inside((event.clientX - edges.left) / edges.width), y: inside((event.clientY - edges.top) / edges.height) };
  }

  function tell(at) {
    var x = view.x + view.width * at.x;
    var y = view.y + view.height * at.y;
    var text = format.time(timeAt(x)) + ", address " + format.bytes(bytesOf(side - y)) + ": ";
    // A page that knows what lies at an address names it.
    var name = window.ferrumName && window.ferrumName(first + (last - first) * x / side, top * (side - y) / side);
    var hit = rectangles.find(function (r) {
      return x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
    });
    readout.textContent = text + (name ? name : hit ? "about " + format.bytes(bytesOf(hit.height)) + " from " + format.time(timeAt(hit.x)) +
      " to " + format.time(timeAt(hit.x + hit.width)) : "free");
  }

  var start = null;
  box.addEventListener("pointerdown", function (event) {
    if (event.pointerType === "mouse" && event.button === 0) {
      start = place(event);
    }
  });
  addEventListener("pointerup", function (event) {
    var from = start;
    start = null;
    selection.hidden = true;
    if (!from) {
      return;
    }
    var to = place(event);
    var width = Math.abs(to.x - from.x);
    var height = Math.abs(to.y - from.y);
    if (width < 0.01 || height < 0.01) {
      return;
    }
    show({
      x: view.x + view.width * Math.min(from.x, to.x), y: view.y + view.height * Math.min(from.y, to.y),
      width: view.width * width, height: view.height * height
    });
  });
  box.addEventListener("pointermove", function (event) {
    var at = place(event);
    tell(at);
    if (!start) {
      return;
    }
    selection.hidden = false;
    selection.style.left = 100 * Math.min(start.x, at.x) + "%";
    selection.style.top = 100 * Math.min(start.y, at.y) + "%";
    selection.style.width = 100 * Math.abs(at.x - start.x) + "%";
    selection.style.height = 100 * Math.abs(at.y - start.y) + "%";
  });
  box.addEventListener("dblclick", function (event) {
    var at = place(event);
    zoom(0.5, at.x, at.y);
  });
  function move(x, y) {
    show({ x: view.x + view.width * x, y: view.y + view.height * y, width: view.width, height: view.height });
  }
  var keys = {
    "+": function () { zoom(0.5, 0.5, 0.5); },
    "-": function () { zoom(2, 0.5, 0.5); },
    "0": function () { zoom(side, 0.5, 0.5); },
    ArrowLeft: function () { move(-0.1, 0); },
    ArrowRight: function () { move(0.1, 0); },
    ArrowUp: function () { move(0, -0.1); },
    ArrowDown: function () { move(0, 0.1); }
  };
  keys["="] = keys["+"];
  box.addEventListener("keydown", function (event) {
    if (Object.prototype.hasOwnProperty.call(keys, event.key) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  var buttons = { in: "+", out: "-", whole: "0" };
  document.querySelectorAll("[data-zoom]").forEach(function (button) {
    button.addEventListener("click", function () { keys[buttons[button.dataset.zoom]](); });
  });
  document.querySelector(".zoom").hidden = false;
  readout.textContent = "Drag over a part of the map to see it larger. In the map the keys + and - zoom, 0 shows all, and the arrow keys move.";
  document.documentElement.dataset.mapReady = String(rectangles.length);
})();
