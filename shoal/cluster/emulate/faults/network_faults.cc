// Faults in shared memory. Each way has a few atomic words, and one version counts all changes: a
// reader takes the version, looks at the words and waits for another version, so no change is
// missed.
#include "shoal/cluster/emulate/faults/network_faults.h"

#include <algorithm>
#include <system_error>

#include "shoal/base/processes/shared_memory.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {

Result<std::shared_ptr<SharedNetworkFaults>> SharedNetworkFaults::make(
    const std::filesystem::path& file, const std::vector<std::string>& workers) {
  if (workers.size() > kMostWorkers) {
    return invalid("faults are for " + std::to_string(kMostWorkers) + " workers at most");
  }
  std::error_code ignored;
  // Processes of an earlier run may still map the old file; they keep it.
  std::filesystem::remove(file, ignored);
  SHOAL_ASSIGN(auto shared, open_shared<Shared>(file));
  for (size_t w = 0; w < workers.size(); ++w) {
    if (workers[w].empty() || workers[w].size() >= kNameBytes) {
      return invalid("no name for a worker: '" + workers[w] + "'");
    }
    std::ranges::copy(workers[w], shared->names[w].begin());
  }
  return std::shared_ptr<SharedNetworkFaults>(new SharedNetworkFaults(std::move(shared)));
}

Result<std::shared_ptr<SharedNetworkFaults>> SharedNetworkFaults::open(
    const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return Status(Code::kNotFound, "there are no faults").at(file.string());
  }
  SHOAL_ASSIGN(auto shared, open_shared<Shared>(file));
  return std::shared_ptr<SharedNetworkFaults>(new SharedNetworkFaults(std::move(shared)));
}

int SharedNetworkFaults::number_of(std::string_view name) const {
  for (size_t w = 0; w < kMostWorkers; ++w) {
    const auto& its = shared_->names[w];
    const std::string_view text(its.begin(), std::ranges::find(its, '\0'));
    if (!text.empty() && text == name) return static_cast<int>(w);
  }
  return plan::kCoordinator;
}

SharedNetworkFaults::Way& SharedNetworkFaults::way(int from, int to) const {
  return shared_->ways.at(static_cast<size_t>(from + 1)).at(static_cast<size_t>(to + 1));
}

void SharedNetworkFaults::change() const {
  ++shared_->version;
  wake();
}

void SharedNetworkFaults::wake() const { wake_shared(shared_->version); }
uint32_t SharedNetworkFaults::version() const { return shared_->version; }

void SharedNetworkFaults::wait(uint32_t seen, Clock::time_point until) const {
  wait_shared(shared_->version, seen, until);
}

void SharedNetworkFaults::cut(int from, int to, bool on) {
  way(from, to).is_cut = on ? 1 : 0;
  change();
}

bool SharedNetworkFaults::is_cut(int from, int to) const { return way(from, to).is_cut != 0; }

void SharedNetworkFaults::delay(int from, int to, std::chrono::milliseconds by) {
  way(from, to).delay_ms = static_cast<uint32_t>(by.count());
  change();
}

std::chrono::milliseconds SharedNetworkFaults::delay_of(int from, int to) const {
  return std::chrono::milliseconds(way(from, to).delay_ms);
}

void SharedNetworkFaults::damage(int from, int to) { way(from, to).is_damaged = 1; }
bool SharedNetworkFaults::is_damaged(int from, int to) const {
  return way(from, to).is_damaged != 0;
}

// Asked for all bytes that arrive, so the common case is a load without an exchange.
bool SharedNetworkFaults::take_damage(int from, int to) {
  return is_damaged(from, to) && way(from, to).is_damaged.exchange(0) != 0;
}

void SharedNetworkFaults::break_off(int one, int other) {
  // A connection has no direction: both orders of the two machines count in one word.
  ++way(std::min(one, other), std::max(one, other)).breaks;
  change();
}

uint32_t SharedNetworkFaults::breaks(int one, int other) const {
  return way(std::min(one, other), std::max(one, other)).breaks;
}

bool SharedNetworkFaults::until_open_both_ways(int one, int other,
                                               Clock::time_point deadline) const {
  for (;;) {
    // Before the test: a change in between makes the wait return at once.
    const uint32_t seen = version();
    if (!is_cut(one, other) && !is_cut(other, one)) return true;
    if (Clock::now() >= deadline) return false;
    wait(seen, deadline);
  }
}

}  // namespace shoal::emulate
