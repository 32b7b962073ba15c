#!/usr/bin/python3
"""Writes what a file of opset 17 may say, from python3-onnx's schemas. Run it when the exporter
moves to another opset: tools/list_opset.py > shoal/model/onnx/export/opset_17.inc
"""
import textwrap

import onnx.defs

OPSET = 17

print(f"// What ONNX opset {OPSET} knows: {{operator, {{most inputs, {{attributes}}}}}}. "
      "Made by tools/list_opset.py.")
for name in sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}):
    schema = onnx.defs.get_schema(name, OPSET)
    if not schema.deprecated:
        attributes = ", ".join(f'"{attribute}"' for attribute in sorted(schema.attributes))
        line = f'{{"{name}", {{{schema.max_input}, {{{attributes}}}}}}},'
        print(textwrap.fill(line, 100, subsequent_indent=" " * 4))
