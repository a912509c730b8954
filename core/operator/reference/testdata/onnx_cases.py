"""Writes ONNX's own test cases of the nodes of some operators for a test in Go.

  onnx_cases.py FOLDER OPERATOR...

The cases whose names contain "_expanded" replace the operator by others and are left out.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases
from stored import Cases


def attribute(value):
    value = onnx.helper.get_attribute_value(value)
    return value.decode() if isinstance(value, bytes) else value


def tensor(cases, value):
    if not isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.from_array(np.asarray(value))
    elif not value.HasField("raw_data"):
        value = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(value))
    return cases.tensor(value.data_type, value.dims, value.raw_data)


def add(cases, case):
    (node,) = case.model.graph.node
    sets = []
    for inputs, outputs in case.data_sets:
        of = dict(zip([v.name for v in case.model.graph.input], inputs, strict=True))
        made = dict(zip([v.name for v in case.model.graph.output], outputs, strict=True))
        sets.append(
            {
                "inputs": [tensor(cases, of[name]) if name else None for name in node.input],
                "outputs": [tensor(cases, made[name]) if name else None for name in node.output],
            }
        )
    (opset,) = [o.version for o in case.model.opset_import if o.domain == node.domain]
    cases.add(
        name=case.name,
        operator=node.op_type,
        domain=node.domain,
        opset=opset,
        attributes={a.name: attribute(a) for a in node.attribute},
        rtol=case.rtol,
        atol=case.atol,
        sets=sets,
    )


def main():
    np.random.seed(1)  # the cases have random elements
    cases, operators = Cases(pathlib.Path(sys.argv[1])), set(sys.argv[2:])
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        is_ours = len(nodes) == 1 and nodes[0].domain == "" and nodes[0].op_type in operators
        if is_ours and "_expanded" not in case.name:
            add(cases, case)
    cases.write(version=onnx.__version__)


main()
