// Any text as a graph: parsed, and what parses prints.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto graph = shoal::parse_text(text, shoal::ops::find);
  if (graph.ok()) (void)shoal::to_text(*graph).size();
  return 0;
}
