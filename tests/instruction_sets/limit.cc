// Loaded before a program: it finds no better instruction set than SHOAL_INSTRUCTION_SET names.
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

namespace {

[[gnu::constructor]] void limit() {
  const char* name = std::getenv("SHOAL_INSTRUCTION_SET");
  if (name == nullptr) return;
  // The best come first: lower bits are better, so that worse ones stay.
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    if (std::string_view(name) == hwy::TargetName(left & -left)) {
      hwy::SetSupportedTargetsForTest(left);
      return;
    }
  }
  std::abort();  // the machine does not have it: nothing would be tested
}

}  // namespace
