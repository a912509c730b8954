"""Writes the forms of some operators in the standard, at each opset, for a test in Go.

onnx_schemas.py FOLDER OPERATOR...
"""

import json
import pathlib
import sys

import onnx
from onnx import defs

KEPT = {"Single": "", "Optional": "optional", "Variadic": "variadic"}


def parameters(schema, given):
    constraints = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    return [
        {
            "name": p.name,
            "variable": p.type_str,
            "types": [t[7:-1] for t in constraints.get(p.type_str, [p.type_str])],
            "form": KEPT[str(p.option).rpartition(".")[2]],
        }
        for p in given
    ]


def attribute(a):
    value = onnx.helper.get_attribute_value(a.default_value) if a.default_value.name else None
    return {
        "name": a.name,
        "type": str(a.type).rpartition(".")[2],
        "is_required": a.required,
        "default": value.decode() if isinstance(value, bytes) else value,
    }


def main():
    folder, forms = pathlib.Path(sys.argv[1]), []
    for name in sys.argv[2:]:
        for opset in range(7, defs.onnx_opset_version() + 1):
            try:
                schema = defs.get_schema(name, opset, "")
            except defs.SchemaError:
                continue
            forms.append(
                {
                    "operator": name,
                    "opset": opset,
                    "since": schema.since_version,
                    "inputs": parameters(schema, schema.inputs),
                    "outputs": parameters(schema, schema.outputs),
                    "attributes": [attribute(a) for a in schema.attributes.values()],
                }
            )
    (folder / "schemas.json").write_text(
        json.dumps({"newest": defs.onnx_opset_version(), "forms": forms})
    )


main()
