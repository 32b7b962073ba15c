#include "scene.h"

#include "shoal/cluster/chaos/small_model.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/search/choices.h"

namespace shoal::simulation {
namespace {

// Weights of this many channels do not fit into a message and are sent apart.
constexpr int64_t kChannels = 6;

cluster::Workers set_of(size_t bits) {
  cluster::Workers set;
  for (int worker = 0; bits >> worker != 0; ++worker) {
    if ((bits >> worker & 1) != 0) set.insert(worker);
  }
  return set;
}

Status add_version(const Scene& scene, size_t version, plan::PlanOptions options,
                   Scene::Plans& plans, std::vector<std::vector<Tensor>>& answers) {
  SHOAL_ASSIGN(const Graph graph, chaos::make_small_model(kChannels, version));
  SHOAL_ASSIGN(const auto executable, make_reference_device()->compile(graph));
  answers.assign(Scene::kInputs, std::vector<Tensor>(1));
  for (size_t i = 0; i < Scene::kInputs; ++i) {
    SHOAL_TRY(executable->run(std::span(&scene.inputs[i], 1), answers[i], {}));
  }
  for (size_t bits = 1; bits < size_t{1} << scene.workers; ++bits) {
    const cluster::Workers set = set_of(bits);
    options.forced = set.size() > 1;
    SHOAL_ASSIGN(plan::Prediction made,
                 plan::make_plan_for(set, graph, chaos::slow_workers(scene.workers), options));
    plans.emplace(set, std::move(made));
  }
  return {};
}

}  // namespace

std::string worker_name(int worker) { return "worker-" + std::to_string(worker); }

bool Scene::is_answer(size_t input, std::span<const Tensor> outputs, bool upgraded) const {
  return relative_error(outputs, answers[input]) <= kSameAnswer ||
         (upgraded && relative_error(outputs, next_answers[input]) <= kSameAnswer);
}

Result<std::unique_ptr<Scene>> make_scene(size_t number) {
  auto scene = std::make_unique<Scene>();
  // 2 workers that survive nothing, 3 to 5 that survive none, one or two; two kinds of split.
  constexpr std::array<std::pair<int, int>, 7> kKinds = {
      {{2, 0}, {3, 0}, {3, 1}, {4, 0}, {4, 1}, {4, 2}, {5, 2}}};
  std::tie(scene->workers, scene->survive) = kKinds[number % kKinds.size()];
  plan::PlanOptions options;
  options.cuts = {number / kKinds.size() % 2 == 0 ? plan::Cut::kRows : plan::Cut::kChannels};
  options.most_nodes = 2;  // a layer for each segment, so that pieces travel between workers
  options.survive = scene->survive;
  for (size_t i = 0; i < Scene::kInputs; ++i) {
    scene->inputs.push_back(chaos::make_small_input(kChannels, i));
  }
  SHOAL_TRY(add_version(*scene, 0, options, scene->plans, scene->answers));
  SHOAL_TRY(add_version(*scene, 1, options, scene->next_plans, scene->next_answers));
  return scene;
}

}  // namespace shoal::simulation
