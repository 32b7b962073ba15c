// Scene: a small model in two versions, a number of workers, and plans for every set of them. Made
// before the first history and used by all: planning takes longer than a history.
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
  using Plans = std::map<cluster::Workers, plan::Prediction>;

  int workers = 0, survive = 0;
  std::vector<Tensor> inputs;
  Plans plans, next_plans;                                 // the next: of the other version
  std::vector<std::vector<Tensor>> answers, next_answers;  // by input

  // An answer of one version. With `upgraded` it may be the next one.
  bool is_answer(size_t input, std::span<const Tensor> outputs, bool upgraded) const;
};

inline constexpr size_t kScenes = 14;
Result<std::unique_ptr<Scene>> make_scene(size_t number);

std::string worker_name(int worker);

}  // namespace shoal::simulation
