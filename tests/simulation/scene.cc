#include "scene.h"

#include "shoal/cluster/chaos/simulated/small_model.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/search/choices.h"

namespace shoal::simulation {
namespace {

// Weights of so many channels do not fit into a message and are sent apart.
constexpr int64_t kChannels = 6;

cluster::Workers set_of(size_t bits) {
  cluster::Workers set;
  for (int worker = 0; bits >> worker != 0; ++worker) {
    if ((bits >> worker & 1) != 0) set.insert(worker);
  }
  return set;
}

}  // namespace

std::string worker_name(int worker) { return "worker-" + std::to_string(worker); }

bool Scene::is_answer(size_t input, std::span<const Tensor> outputs) const {
  return relative_error(outputs, answers[input]) <= kSameAnswer;
}

Result<std::unique_ptr<Scene>> make_scene(size_t number) {
  auto scene = std::make_unique<Scene>();
  // 2 workers that survive nothing, and 3 or 4 that survive none or one; two kinds of split.
  constexpr std::array<std::pair<int, int>, 5> kKinds = {{{2, 0}, {3, 0}, {3, 1}, {4, 0}, {4, 1}}};
  std::tie(scene->workers, scene->survive) = kKinds[number % kKinds.size()];
  plan::PlanOptions options;
  options.cuts = {number / kKinds.size() % 2 == 0 ? plan::Cut::kRows : plan::Cut::kChannels};
  options.most_nodes = 2;  // a layer for each segment, so that pieces travel between workers
  options.survive = scene->survive;

  SHOAL_ASSIGN(const Graph graph, chaos::make_small_model(kChannels, 0));
  for (size_t i = 0; i < Scene::kInputs; ++i) {
    scene->inputs.push_back(chaos::make_small_input(kChannels, i));
  }
  SHOAL_ASSIGN(const auto executable, make_reference_device()->compile(graph));
  scene->answers.assign(Scene::kInputs, std::vector<Tensor>(1));
  for (size_t i = 0; i < Scene::kInputs; ++i) {
    SHOAL_TRY(executable->run(std::span(&scene->inputs[i], 1), scene->answers[i], {}));
  }
  for (size_t bits = 1; bits < size_t{1} << scene->workers; ++bits) {
    const cluster::Workers set = set_of(bits);
    options.forced = set.size() > 1;
    SHOAL_ASSIGN(plan::Prediction made,
                 plan::make_plan_for(set, graph, chaos::slow_workers(scene->workers), options));
    scene->plans.emplace(set, std::move(made));
  }
  return scene;
}

}  // namespace shoal::simulation
