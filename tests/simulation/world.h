// World: the state shared by the machines of a history, and its known faults.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "network.h"
#include "scene.h"

namespace shoal::simulation {

// The outcome of a history, in memory that it shares with the process that began it.
struct Report {
  uint64_t hash = 0, switches = 0;
  uint64_t answered = 0, failed = 0, replayed = 0;  // requests
  uint64_t bytes = 0;                               // of memory
  Nanos lasted = 0;                                 // in virtual time
  char violation[8192] = {};                        // empty: none
};

struct World {
  const Scene& scene;
  Report& report;
  Network network;
  net::ChannelOptions channel;
  std::filesystem::path folder;  // for the files of workers; empty: they have none

  Nanos slack = 50 * kMillisecond;  // by which a request may end after its deadline
  // Events so far that may lose requests, and whether all were losses of the same worker.
  int faults = 0;
  int lost_worker = -1;
  bool is_noticed = true;  // by production code, soon
  bool is_slow = false;    // compiling takes minutes
  uint64_t latest_epoch = 0;
  std::map<std::string, uint64_t> epochs = {};  // that each worker has acknowledged

  // Whether a request with enough time has to be answered: nothing happened that may lose it, or
  // only one worker was lost.
  bool must_answer() const {
    if (faults == 0) return true;
    return faults == 1 && lost_worker >= 0 && (is_noticed || scene.survive > 0);
  }
};

// Ends the history. `how` names the violation.
[[noreturn]] void violate(Report& report, const std::string& how);
// Ends the history well.
[[noreturn]] void finish(Report& report);

}  // namespace shoal::simulation
