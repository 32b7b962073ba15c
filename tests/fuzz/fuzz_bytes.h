// The bytes of a fuzzer's input as decisions. Every input is valid: zeros follow its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace shoal {

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  // The next bytes, as a separate input: reading it does not move what follows.
  FuzzBytes take(size_t bytes) {
    const auto taken = left_.first(std::min(bytes, left_.size()));
    left_ = left_.subspan(taken.size());
    return {taken.data(), taken.size()};
  }
  uint8_t byte() {
    if (left_.empty()) return 0;
    const uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  // 0 to n - 1. REQUIRES: 0 < n <= 256
  int below(int n) { return byte() % n; }
  bool one_in(int n) { return below(n) == n - 1; }  // never where the input has ended

  // Changes a few bytes, seldom.
  void damage(std::string& text) {
    if (text.empty() || !one_in(16)) return;
    for (int i = 0; i < 3; ++i) {
      const size_t at = (static_cast<size_t>(byte()) << 8 | byte()) % text.size();
      text[at] = static_cast<char>(byte());
    }
  }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace shoal
