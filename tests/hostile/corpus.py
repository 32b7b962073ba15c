"""The hostile corpus: every case of every theme, in the order they are run."""

import controls
import external
import graph
import nesting
import operators
import sizes
import tensors
import wire

THEMES = [
    module.THEME for module in (controls, wire, tensors, graph, nesting, operators, sizes, external)
]
CASES = [case for theme in THEMES for case in theme.cases]
