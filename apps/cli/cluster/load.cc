#include "load.h"

#include <algorithm>
#include <random>
#include <thread>

#include "../model.h"

namespace shoal::cli {

Load::Load(const Graph& graph, size_t in_flight, Answer answer)
    : outputs_(graph.outputs().size()), in_flight_(in_flight), answer_(std::move(answer)) {
  std::mt19937 rng(1);
  for (ValueId id : graph.inputs()) inputs_.push_back(random_tensor(graph[id].type, rng));
}

Result<double> Load::period(size_t requests, size_t turns) {
  requests = std::max(requests, 4 * in_flight_);
  next_ = 0;
  answered_.clear();
  std::vector<std::thread> clients;
  for (size_t i = 0; i < in_flight_; ++i) {
    clients.emplace_back([&] { ask(requests); });
  }
  for (std::thread& client : clients) client.join();
  SHOAL_TRY(failure_);
  const size_t counted = (requests / 2 + turns - 1) / turns * turns;
  const std::chrono::duration<double> time =
      answered_.back() - answered_[answered_.size() - 1 - counted];
  return time.count() / static_cast<double>(counted);
}

// One client: a request after the other, until all are answered.
void Load::ask(size_t requests) {
  for (;;) {
    size_t request = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == requests || !failure_.ok()) return;
      request = next_++;
    }
    std::vector<Tensor> outputs(outputs_);
    const Status status = answer_(request, inputs_, outputs);
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    answered_.push_back(std::chrono::steady_clock::now());
  }
}

}  // namespace shoal::cli
