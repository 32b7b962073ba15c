// The period of a pipeline in steady state: the time between answers, over the second half of them.
// Those after the last request was sent come while the pipeline runs dry, and are not counted.
#include "shoal/base/timing/load_generator.h"

#include <algorithm>
#include <thread>

namespace shoal {

Result<double> LoadGenerator::period(size_t requests, size_t turns) {
  // Four rounds of all clients, so that the half that counts has two.
  requests = std::max(requests, 4 * in_flight_);
  next_ = 0;
  full_ = 0;
  answered_.clear();
  failure_ = {};
  std::vector<std::thread> clients;
  for (size_t i = 0; i < in_flight_; ++i) {
    clients.emplace_back([&] { send_all(requests); });
  }
  for (std::thread& client : clients) client.join();
  SHOAL_TRY(failure_);
  const size_t last = full_ - 1;
  const size_t counted = std::min(last, (requests / 2 + turns - 1) / turns * turns);
  const std::chrono::duration<double> time = answered_[last] - answered_[last - counted];
  return time.count() / static_cast<double>(counted);
}

void LoadGenerator::send_all(size_t requests) {
  for (;;) {
    size_t request = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == requests || !failure_.ok()) return;
      request = next_++;
      if (next_ == requests) full_ = answered_.size();
    }
    const Status status = answer_(request);
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    answered_.push_back(std::chrono::steady_clock::now());
  }
}

}  // namespace shoal
