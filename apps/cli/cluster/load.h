// Load: clients that ask without a pause, so that requests follow each other.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::cli {

class Load {
 public:
  // Answers the request of this number.
  using Answer =
      std::function<Status(size_t request, std::span<const Tensor> in, std::span<Tensor> out)>;

  // The same random inputs again and again; so many requests are on their way at a time.
  Load(const Graph& graph, size_t in_flight, Answer answer);

  // Wall-clock seconds between two answers of at least so many requests, of which the first half
  // only fills the workers. Who take turns answer together: whole rounds of them are counted.
  Result<double> period(size_t requests, size_t turns = 1);

 private:
  void ask(size_t requests);

  const size_t outputs_;
  const size_t in_flight_;
  const Answer answer_;
  std::vector<Tensor> inputs_;
  std::mutex mutex_;
  size_t next_ = 0;
  std::vector<std::chrono::steady_clock::time_point> answered_;
  Status failure_;
};

}  // namespace shoal::cli
