#include "shoal/cluster/chaos/simulated/sim_scene.h"

#include <algorithm>

#include "shoal/cluster/chaos/simulated/small_model.h"
#include "shoal/engine/device/wrapped.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/search/choices.h"

namespace shoal::chaos {
namespace {

constexpr int64_t kChannels = 4;

}  // namespace

Result<std::unique_ptr<Scene>> Scene::make(size_t number) {
  std::unique_ptr<Scene> scene(new Scene);
  // Mixed radix: 3 numbers of losses, 3 of workers, 2 kinds of split.
  scene->survive_ = static_cast<int>(number % 3);
  scene->workers_ = 3 + static_cast<int>(number / 3 % 3);
  scene->by_channels_ = number / 9 % 2 == 1;
  const auto device = make_reference_device();
  for (size_t i = 0; i < kInputs; ++i) {
    scene->inputs_.push_back(make_small_input(kChannels, i));
  }
  for (size_t version = 0; version < kVersions; ++version) {
    SHOAL_ASSIGN(Graph graph, make_small_model(kChannels, version));
    SHOAL_ASSIGN(const auto executable, device->compile(graph));
    auto& answers = scene->answers_.emplace_back(kInputs);
    for (size_t i = 0; i < kInputs; ++i) {
      answers[i].resize(1);
      SHOAL_TRY(executable->run(std::span(&scene->inputs_[i], 1), answers[i], {}));
    }
    scene->graphs_.push_back(std::move(graph));
  }
  return scene;
}

std::optional<size_t> Scene::version_of(size_t input, std::span<const Tensor> outputs) const {
  for (size_t version = 0; version < kVersions; ++version) {
    if (relative_error(outputs, answers_[version][input]) <= kSameAnswer) return version;
  }
  return std::nullopt;
}

Result<Scene::Made> Scene::make_plan(size_t version, const cluster::Workers& set) const {
  plan::PlanOptions options;
  options.forced = set.size() > 1;
  options.cuts = {by_channels_ ? plan::Cut::kChannels : plan::Cut::kRows};
  // At most a layer for each segment, so that pieces travel between workers.
  options.most_nodes = 2;
  SHOAL_ASSIGN(const plan::Prediction best,
               plan::make_plan_for(set, graphs_[version], slow_workers(workers_), options));
  // Fewer workers than losses to survive: as many as can be, as plan::for_workers() does.
  const int losses = std::min(survive_, static_cast<int>(set.size()) - 1);
  Made made{best.scheduled, {}};
  if (losses > 0) {
    SHOAL_ASSIGN(const plan::Protected with,
                 plan::protect(best.graph(), best.plan(), losses, {set.begin(), set.end()}));
    SHOAL_ASSIGN(made.scheduled, plan::ScheduledPlan::make(with.graph, with.plan));
  }
  const auto device = make_reference_device();
  for (const auto& parts : made.scheduled.schedule().parts) {
    auto& executables = made.executables.emplace_back();
    for (const plan::Part& part : parts) {
      SHOAL_ASSIGN(const Graph graph, plan::to_graph(made.scheduled.graph(), part));
      SHOAL_ASSIGN(auto executable, device->compile(graph));
      executables.push_back(std::move(executable));
    }
  }
  return made;
}

Result<const Scene::Made*> Scene::made(size_t version, const cluster::Workers& set) {
  // Planning and compiling take longer than a whole history, so both are done once for each set.
  const std::pair key(version, set);
  auto it = made_.find(key);
  if (it == made_.end()) {
    SHOAL_ASSIGN(Made made, make_plan(version, set));
    it = made_.emplace(key, std::move(made)).first;
  }
  return static_cast<const Made*>(&it->second);
}

Result<cluster::DeployedPlan> Scene::deployed(size_t version, const cluster::Workers& set,
                                              uint64_t id) {
  SHOAL_ASSIGN(const Made* const one, made(version, set));
  return cluster::DeployedPlan{id, one->scheduled};
}

Result<std::unique_ptr<cluster::Deployment>> Scene::deployment(size_t version,
                                                               const cluster::Workers& set,
                                                               int worker) {
  SHOAL_ASSIGN(const Made* const one, made(version, set));
  const plan::Plan& plan = one->scheduled.plan();
  const plan::Schedule& schedule = one->scheduled.schedule();
  std::vector<cluster::WorkerTask> tasks;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
      if (plan.segments[s].tasks[t].worker != worker) continue;
      const plan::Part& part = schedule.parts[s][t];
      cluster::WorkerTask& task = tasks.emplace_back();
      task.executable = std::make_unique<WrappedExecutable>(one->executables[s][t]);
      task.inputs = part.inputs;
      task.outputs = part.outputs;
      task.sends = cluster::sends_of(schedule, part, worker);
      for (const plan::CodeRead& read : schedule.code_reads[s][t]) {
        task.codes.push_back(cluster::task_code(one->scheduled.graph(), plan, read));
      }
    }
  }
  return std::make_unique<cluster::Deployment>(std::move(tasks));
}

}  // namespace shoal::chaos
