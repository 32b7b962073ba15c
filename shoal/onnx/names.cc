#include "shoal/base/printable.h"

namespace shoal::onnx {

std::string printable(std::string_view name, size_t limit) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char c : name.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\') {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += c;
    }
  }
  return name.size() > limit ? text + "..." : text;
}

}  // namespace shoal::onnx
