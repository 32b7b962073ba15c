// Faults: what goes wrong in a history, drawn from its seed: what, to whom, when, and for how long.
#pragma once

#include <memory>
#include <vector>

#include "shoal/chaos/fault.h"
#include "shoal/chaos/sim_worker.h"

namespace shoal::chaos {

class FaultPlan {
 public:
  // So many, at any point of requests or at any time before `end`. All outlive it.
  FaultPlan(World& world, std::vector<std::unique_ptr<SimWorker>>& workers, int count, Time end);

 private:
  struct Trigger {
    FaultPoint point;
    int64_t countdown;  // how many times it is reached before
    Fault fault;
    Time lasts;
  };

  void reached(FaultPoint point, int worker);
  void happen(Fault fault, int worker, Time lasts);
  void flap(int worker, int times);
  void partition(int worker, bool to_it, bool from_it, Time lasts);
  int peer_of(int worker);

  World& world_;
  std::vector<std::unique_ptr<SimWorker>>& workers_;
  std::vector<Trigger> triggers_;
};

}  // namespace shoal::chaos
