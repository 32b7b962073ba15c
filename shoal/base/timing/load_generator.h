// LoadGenerator: clients that send one request after another without a pause.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

class LoadGenerator {
 public:
  // Answers request number `request`. Called by `in_flight` threads at a time.
  using Answer = std::function<Status(size_t request)>;

  LoadGenerator(size_t in_flight, Answer answer)
      : in_flight_(in_flight), answer_(std::move(answer)) {}

  // Sends `requests` requests, or four per client if that is more, and returns the seconds between
  // two answers. The first half only fills the pipeline and is not counted, nor are the answers
  // after the last request was sent. If `turns` plans alternate, a multiple of `turns` is counted.
  // Fails as soon as a request does. Not thread-safe.
  Result<double> period(size_t requests, size_t turns = 1);

 private:
  void send_all(size_t requests);

  const size_t in_flight_;
  const Answer answer_;
  std::mutex mutex_;
  size_t next_ = 0;
  size_t full_ = 0;  // answers until the last request was sent
  std::vector<std::chrono::steady_clock::time_point> answered_;
  Status failure_;
};

}  // namespace shoal
