// The parser's types by name only: reading <CLI/CLI.hpp> takes a compiler seconds, so only files
// that define flags do.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
