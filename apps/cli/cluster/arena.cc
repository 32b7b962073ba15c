#include "arena.h"

#include "shoal/net/tls.h"

namespace shoal::cli {

Result<std::unique_ptr<Arena>> Arena::open(const Graph& graph, const ArenaOptions& options) {
  SHOAL_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  std::unique_ptr<Arena> arena(new Arena(options, std::move(folder)));
  SHOAL_TRY(arena->start(graph, options));
  return arena;
}

Arena::Arena(const ArenaOptions& options, TemporaryFolder folder)
    : folder_(std::move(folder)),
      farm_(folder_.path(), {"--threads", "1"}, true),
      random_(options.seed) {}

Status Arena::start(const Graph& graph, const ArenaOptions& options) {
  std::vector<std::string> names;
  for (size_t i = 0; i < options.workers; ++i) names.push_back("worker-" + std::to_string(i));
  SHOAL_TRY(farm_.start(names, [] { return false; }));
  SHOAL_ASSIGN(exam_, make_exam(graph, options.seed));
  SHOAL_ASSIGN(const net::Identity identity, farm_.owner().coordinator());
  SHOAL_ASSIGN(transport_, net::make_tls_transport(identity));
  SHOAL_ASSIGN(const auto workers, farm_.owner().workers());
  std::vector<std::string> addresses;
  for (const cluster::ListedWorker& worker : workers) addresses.push_back(worker.address);
  cluster::CoordinatorOptions coordinator;
  SHOAL_ASSIGN(coordinator.epoch, farm_.owner().next_epoch());
  SHOAL_ASSIGN(coordinator_, cluster::Coordinator::connect(addresses, *transport_, coordinator));
  plan::PlanOptions plan;
  plan.survive = options.survive;
  plans_ = std::make_unique<EqualPlans>(graph, equal_workers(options.workers), plan);
  SHOAL_ASSIGN(
      fleet_, cluster::Fleet::start(
                  *coordinator_, {.plan = [this](const auto& set) { return plans_->plan_for(set); },
                                  .standby = true,
                                  .look_again = std::chrono::milliseconds(50),
                                  .grace = std::chrono::seconds(2)}));
  fleet_->settle();
  return {};
}

Arena::Reply Arena::ask() {
  constexpr std::chrono::seconds kPatience{20};
  const Question& question = exam_[random_() % exam_.size()];
  std::vector<Tensor> outputs(question.answers.size());
  Reply reply;
  const auto begin = std::chrono::steady_clock::now();
  reply.status = fleet_->run(question.inputs, outputs, kPatience);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  reply.ms = took.count();
  reply.right = reply.status.ok() && is_right(outputs, question);
  return reply;
}

std::vector<bool> Arena::states() const {
  std::vector<bool> there(coordinator_->workers().size(), true);
  for (int worker : coordinator_->lost()) there[static_cast<size_t>(worker)] = false;
  return there;
}

void Arena::until_whole() {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    fleet_->settle();
    if (is_whole()) return;
  }
}

}  // namespace shoal::cli
