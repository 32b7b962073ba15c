// The links of an emulated cluster, as one of its machines has them.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "shoal/base/status.h"
#include "shoal/net/transport.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

struct EmulatedLinks {
  plan::ClusterProfile cluster;  // peers are known by the names of its workers; others coordinate
  int self = -1;                 // which worker this is; -1: the coordinator
  double dilation = 1;           // seconds that pass here for every second there
  // What machines share, the air and their cables, is shared through files in it.
  std::filesystem::path media;
};

// Whether links are slow; shared by all machines, and false at first.
Result<std::shared_ptr<std::atomic<bool>>> open_shaping(const EmulatedLinks& links);

// Slows down what is sent, as the way from here to each peer does.
Result<std::shared_ptr<const net::Decorator>> make_links(const EmulatedLinks& links);

}  // namespace shoal::emulate
