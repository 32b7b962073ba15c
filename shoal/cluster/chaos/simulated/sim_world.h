// World: the shared state of a simulated cluster: scene, clock, random numbers, journal and
// network.
#pragma once

#include <functional>
#include <string_view>

#include "shoal/cluster/chaos/simulated/sim_network.h"
#include "shoal/cluster/chaos/simulated/sim_scene.h"
#include "shoal/cluster/messages/fault_point.h"

namespace shoal::chaos {

using cluster::FaultPoint;
using cluster::kFaultPoints;

struct World {
  explicit World(Scene& of, uint64_t seed) : scene(of), random(seed) {}

  void note(std::string_view what, int64_t a = 0, int64_t b = 0) {
    journal.note(clock.now(), what, a, b);
  }

  Scene& scene;
  Clock clock;
  Random random;
  Journal journal;
  Network network{clock, random};
  std::function<void(FaultPoint, int worker)> reached = [](FaultPoint, int) {};
};

}  // namespace shoal::chaos
