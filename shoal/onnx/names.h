// Names from a file, as messages may show them.
#pragma once

#include <string>
#include <string_view>

namespace shoal::onnx {

// One line of printable text: control characters and backslashes as \xNN, cut at `limit` bytes.
std::string printable(std::string_view name, size_t limit = 256);

}  // namespace shoal::onnx
