#include "shoal/base/machine/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace shoal {
namespace {

TEST(Pages, OfAnySizeHoldWhatIsWritten) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{2} << 20, (size_t{5} << 20) + 3}) {
    std::vector<char> memory(size);
    prefer_huge_pages(memory.data(), memory.size());
    memory.front() = memory.back() = 'x';
    EXPECT_EQ(memory.front(), 'x');
    EXPECT_EQ(memory.back(), 'x');
  }
}

TEST(Pages, AreAllZeroAtFirst) {
  constexpr size_t kBytes = (size_t{3} << 20) + 5;
  auto* memory = static_cast<char*>(allocate_pages(kBytes));
  EXPECT_TRUE(std::all_of(memory, memory + kBytes, [](char c) { return c == 0; }));
  memory[kBytes - 1] = 'x';
  free_pages(memory, kBytes);
}

}  // namespace
}  // namespace shoal
