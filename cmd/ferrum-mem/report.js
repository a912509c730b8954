"use strict";
(function () {
  var result = JSON.parse(document.getElementById("replay").textContent);
  var series = result.series;
  var count = series.time.length;
  var boxes = Array.prototype.slice.call(document.querySelectorAll('[data-chart]:not([data-chart="map"])'));
  var at = -1;

  var bytes = window.ferrumFormat.bytes;
  var time = window.ferrumFormat.time;

  function text(chart, i) {
    var from = "From " + time(series.time[i]) + ": ";
    if (chart === "failed") {
      return from + series.failed[i] + " not served";
    }
    if (chart === "unused") {
      var held = series.reserved_bytes[i];
      var unused = held > 0 ? 1 - series.live_bytes[i] / held : 0;
      return from + (100 * unused).toFixed(1) + " % not live";
    }
    return from + "live " + bytes(series.live_bytes[i]) + ", reserved " + bytes(series.reserved_bytes[i]) +
      ", physical " + bytes(series.physical_bytes[i]);
  }

  function show(i) {
    at = Math.max(0, Math.min(count - 1, i));
    boxes.forEach(function (box) {
      var chart = box.dataset.chart;
      var cursor = box.querySelector(".cursor");
      cursor.hidden = false;
      cursor.style.left = 100 * (at + 0.5) / count + "%";
      document.querySelector('[data-readout="' + chart + '"]').textContent = text(chart, at);
    });
  }

  var hint = "Point at a chart, or use the arrow keys in it, to read its values.";
  document.querySelector('[data-readout="memory"]').textContent = hint;
  boxes.forEach(function (box) {
    box.addEventListener("pointermove", function (event) {
      var place = box.getBoundingClientRect();
      show(Math.floor(count * (event.clientX - place.left) / place.width));
    });
    box.addEventListener("keydown", function (event) {
      var steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -count, End: count };
      if (event.key in steps) {
        event.preventDefault();
        show((at < 0 ? 0 : at) + steps[event.key]);
      }
    });
  });
  document.documentElement.dataset.ready = String(count);
})();
