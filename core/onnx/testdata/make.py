"""Writes models of bindings/python/tests/onnx_graphs.py as files of this folder. The package
onnx is needed.

  make.py FOLDER
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bindings.python.tests import onnx_graphs

for style, opset in (("old", 17), ("new", 21)):
    model = onnx_graphs.encoder(opset, style)
    (Path(sys.argv[1]) / f"{style}.onnx").write_bytes(model.SerializeToString())
model = onnx_graphs.products_of_rows()
(Path(sys.argv[1]) / "rows.onnx").write_bytes(model.SerializeToString())
