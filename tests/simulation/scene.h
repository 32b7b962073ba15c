// Scene: a small model, a number of workers, and a plan for every set of them. Made before the
// first history and used by all: planning takes longer than a history.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::simulation {

struct Scene {
  static constexpr size_t kInputs = 3;

  int workers = 0, survive = 0;
  std::vector<Tensor> inputs;
  std::vector<std::vector<Tensor>> answers;  // by input
  std::map<cluster::Workers, plan::Prediction> plans;

  bool is_answer(size_t input, std::span<const Tensor> outputs) const;
};

inline constexpr size_t kScenes = 10;
Result<std::unique_ptr<Scene>> make_scene(size_t number);

std::string worker_name(int worker);

}  // namespace shoal::simulation
