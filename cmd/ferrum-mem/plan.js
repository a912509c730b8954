"use strict";
// Names the buffer at a time and an address, for the map of addresses.
(function () {
  var buffers = JSON.parse(document.getElementById("plan").textContent).buffers;
  var bytes = window.ferrumFormat.bytes;
  window.ferrumName = function (time, address) {
    var hit = buffers.find(function (b) {
      return time >= b.lower && time < b.upper && address >= b.offset_bytes && address < b.offset_bytes + b.size_bytes;
    });
    return hit && hit.id + ", " + bytes(hit.size_bytes) + " at offset " + hit.offset_bytes + " from " + hit.lower + " until " + hit.upper;
  };
})();
