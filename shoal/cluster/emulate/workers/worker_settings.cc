// What a worker takes of its machine, by the names of these settings.
#include "shoal/cluster/emulate/workers/worker_service.h"

namespace shoal::emulate {

SettingList settings_of(WorkerServiceOptions& options) {
  return {
      Setting("threads", options.threads, "Threads to use; 0: one per core").in(0, 1024),
      Setting("memory", options.memory_mb,
              "Megabytes for weights and plans at most; 0: half of this machine's")
          .in(0, 1 << 24)
          .showing_default(),
      Setting("speed", options.speed, "Be as slow as this part of one core: 0.25")
          .in(0.001, 1)
          .hiding_default(),
      Setting("store", options.store,
              "Keep weights in this folder, for when the worker is started again"),
      Setting("quota", options.quota_mb, "Megabytes of weights in that folder at most")
          .in(0, 1 << 24),
  };
}

}  // namespace shoal::emulate
