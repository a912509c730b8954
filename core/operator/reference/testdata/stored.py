"""Writes test cases as two files: cases.json, and data.bin with the elements of all tensors."""

import json


class Cases:
    def __init__(self, folder):
        self.folder, self.size, self.list = folder, 0, []
        self.file = (folder / "data.bin").open("wb")

    def tensor(self, kind, shape, data):
        """Appends a tensor. kind is its number in ONNX, or in the C ABI from 256 on."""
        place = {"type": kind, "shape": list(shape), "offset": self.size, "bytes": len(data)}
        self.file.write(data)
        self.size += len(data)
        return place

    def add(self, **case):
        self.list.append(case)

    def write(self, **more):
        self.file.close()
        text = json.dumps({**more, "cases": self.list})
        (self.folder / "cases.json").write_text(text)
