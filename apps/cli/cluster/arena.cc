#include "arena.h"

#include <algorithm>

#include "../cluster_file.h"
#include "equal_plans.h"

namespace shoal::cli {

Result<std::unique_ptr<Arena>> Arena::open(const Graph& graph, const ArenaOptions& options) {
  SHOAL_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  std::unique_ptr<Arena> arena(new Arena(options, std::move(folder)));
  SHOAL_TRY(arena->start(graph, options));
  return arena;
}

Arena::Arena(const ArenaOptions& options, TemporaryFolder folder)
    : folder_(std::move(folder)), random_(options.seed) {
  emulation_.media = folder_.path() / "media";
}

Status Arena::start(const Graph& graph, const ArenaOptions& options) {
  SHOAL_TRY(lay_out(options));
  std::vector<std::string> flags = {"--threads", "1", "--media", emulation_.media};
  if (emulation_.is_on()) {
    flags.insert(flags.end(),
                 {"--emulate", emulation_.file, "--dilate", std::to_string(emulation_.dilation)});
  }
  farm_.emplace(folder_.path(), std::move(flags), true);
  SHOAL_TRY(farm_->start(names_, [] { return false; }));
  SHOAL_ASSIGN(exam_, make_exam(graph, options.seed));
  SHOAL_TRY(connect());
  SHOAL_TRY(deploy(graph, options.survive));
  if (!emulation_.is_on()) return {};
  // Weights have travelled before links are slow.
  SHOAL_ASSIGN(const auto links, emulation_.as(""));
  SHOAL_ASSIGN(const auto shaping, emulate::open_shaping(links));
  shaping->store(true);
  return {};
}

// Who takes part, and what can happen to them.
Status Arena::lay_out(const ArenaOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(emulation_.media, error);
  if (!options.cluster.empty()) {
    emulation_.file = std::filesystem::absolute(options.cluster);
    SHOAL_ASSIGN(cluster_, read_cluster(emulation_.file));
    emulation_.dilation = options.dilation > 0 ? options.dilation : choose_dilation(*cluster_);
    for (const plan::WorkerProfile& worker : cluster_->workers) names_.push_back(worker.name);
  }
  for (size_t i = 0; !cluster_ && i < options.workers; ++i) {
    names_.push_back("worker-" + std::to_string(i));
  }
  SHOAL_ASSIGN(faults_, emulation_.make_weather(names_));
  SHOAL_ASSIGN(breakpoint_, emulation_.breakpoint());
  return {};
}

Status Arena::connect() {
  SHOAL_ASSIGN(const net::Identity identity, farm_->owner().coordinator());
  SHOAL_ASSIGN(transport_, make_transport(identity, emulation_, ""));
  SHOAL_ASSIGN(const auto workers, farm_->owner().workers());
  std::vector<std::string> addresses;
  for (const cluster::ListedWorker& worker : workers) addresses.push_back(worker.address);
  cluster::CoordinatorOptions options;
  SHOAL_ASSIGN(options.epoch, farm_->owner().next_epoch());
  options.reached = [breakpoint = breakpoint_](cluster::FaultPoint point, int worker) {
    breakpoint->pass(worker, static_cast<int>(point));
  };
  SHOAL_ASSIGN(coordinator_, cluster::Coordinator::connect(addresses, *transport_, options));
  return {};
}

Status Arena::deploy(const Graph& graph, int survive) {
  plan::PlanOptions plan;
  plan.survive = survive;
  cluster::FailoverOptions options{.plan = nullptr,
                                   .standby = true,
                                   .retry_interval = std::chrono::milliseconds(50),
                                   .grace = std::chrono::seconds(2)};
  if (cluster_) {
    options.plan = [this, graph, plan](const auto& set) {
      return plan_for(graph, *cluster_, plan, set);
    };
  } else {
    auto plans = std::make_shared<EqualPlans>(graph, equal_workers(names_.size()), plan);
    options.plan = [plans](const auto& set) { return plans->plan_for(set); };
  }
  SHOAL_ASSIGN(failover_, cluster::FailoverDeployment::start(*coordinator_, std::move(options)));
  failover_->settle();
  return {};
}

Arena::Reply Arena::ask() {
  constexpr std::chrono::seconds kTimeout{20};
  const Question& question = exam_[random_() % exam_.size()];
  std::vector<Tensor> outputs(question.answers.size());
  Reply reply;
  const auto begin = std::chrono::steady_clock::now();
  reply.status = failover_->run(
      question.inputs, outputs,
      std::chrono::duration_cast<std::chrono::milliseconds>(kTimeout * std::max(1.0, stretch())));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  reply.ms = took.count() / stretch();
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
    failover_->settle();
    if (is_whole()) return;
  }
}

}  // namespace shoal::cli
