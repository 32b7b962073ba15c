#include "shoal/cluster/emulate/faults/breakpoint.h"

#include "shoal/base/processes/shared_memory.h"

namespace shoal::emulate {
namespace {

constexpr uint32_t kSet = 1U << 30, kCaught = 1U << 31;

uint32_t for_whom(int machine, int point) {
  return static_cast<uint32_t>(machine + 1) << 8 | static_cast<uint32_t>(point);
}

}  // namespace

Result<std::shared_ptr<Breakpoint>> Breakpoint::open(const std::filesystem::path& file) {
  SHOAL_ASSIGN(auto word, open_shared<Word>(file));
  return std::shared_ptr<Breakpoint>(new Breakpoint(std::move(word)));
}

void Breakpoint::arm(int machine, int point) { *word_ = kSet | for_whom(machine, point); }

bool Breakpoint::wait_hit(Clock::time_point deadline) {
  for (;;) {
    uint32_t now = *word_;
    if ((now & kSet) == 0) return true;
    if (Clock::now() < deadline) {
      wait_shared(*word_, now, deadline);
    } else if (word_->compare_exchange_strong(now, 0)) {
      // Fails if the machine was caught at the last moment; the loop then returns true.
      return false;
    }
  }
}

void Breakpoint::release() {
  *word_ = 0;
  wake_shared(*word_);
}

void Breakpoint::hit(int machine, int point) {
  uint32_t expected = kSet | for_whom(machine, point);
  const uint32_t caught = kCaught | for_whom(machine, point);
  if (*word_ != expected || !word_->compare_exchange_strong(expected, caught)) return;
  wake_shared(*word_);
  // The process that set it may be gone, so the wait is bounded.
  constexpr std::chrono::seconds kLongest{10};
  const Clock::time_point deadline = Clock::now() + kLongest;
  while (*word_ == caught && Clock::now() < deadline) wait_shared(*word_, caught, deadline);
}

}  // namespace shoal::emulate
