// Load: clients that each send a server one inference request after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "shoal/base/status.h"
#include "shoal/base/timing/latency_recorder.h"

namespace shoal::serve {

struct LoadOptions {
  std::string url;
  std::string model;
  std::string key = {};  // that requests show; empty: none
  // Certificates (PEM) that the server's must lead to; empty: the system's.
  std::string trusted = {};
  size_t clients = 1;
  std::chrono::duration<double> time{5};
  double rate = 0;    // requests per second that all send together; 0: each when it has an answer
  int64_t items = 1;  // of each request: the first dimension, if the model leaves it open
  int64_t timeout_us = 0;  // that each request sets; 0: none
};

struct LoadResult {
  LatencyRecorder answered;  // from a request to its answer
  LatencyRecorder refused;   // 429 or 503
  uint64_t failed = 0;
  std::string first_failure;
  double seconds = 0;
};

// Sends binary requests with random elements of the shapes in the server's metadata, with 1 for
// other open dimensions. Fails if the metadata cannot be read.
Result<LoadResult> run_load(const LoadOptions& options);

}  // namespace shoal::serve
