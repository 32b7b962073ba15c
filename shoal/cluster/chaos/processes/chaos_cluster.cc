// A cluster of processes for fault injection. All faults of the network and of timing go through
// shared files (emulate/), so that workers are the ordinary program and only their transport knows
// of faults.

#include "shoal/cluster/chaos/processes/chaos_cluster.h"

#include <algorithm>
#include <system_error>

#include "shoal/cluster/emulate/machines/emulation_settings.h"
#include "shoal/cluster/emulate/machines/links.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/tensor/compare.h"

namespace shoal::chaos {

namespace {

// The tolerance alone would accept a swap of two close scores, which is another answer to the user.
bool has_same_maximum(const Tensor& got, const Tensor& want) {
  if (want.dtype() != DType::kF32 || want.count() == 0) return true;
  const auto g = got.data<float>(), w = want.data<float>();
  return std::ranges::max_element(g) - g.begin() == std::ranges::max_element(w) - w.begin();
}

}  // namespace

Result<std::unique_ptr<ChaosCluster>> ChaosCluster::open(const Graph& graph, Device& device,
                                                         const ChaosClusterOptions& options) {
  SHOAL_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  std::unique_ptr<ChaosCluster> cluster(new ChaosCluster(options, device, std::move(folder)));
  SHOAL_TRY(cluster->start(options));
  SHOAL_ASSIGN(cluster->check_, EquivalenceCheck::make(graph, device, options.seed));
  SHOAL_TRY(cluster->connect_and_deploy(options));
  return cluster;
}

ChaosCluster::ChaosCluster(const ChaosClusterOptions& options, Device& device,
                           TemporaryFolder folder)
    : folder_(std::move(folder)),
      emulation_{options.emulated, folder_.path() / "media", options.dilation},
      names_(options.workers),
      random_(options.seed),
      device_(device) {}

// The shared files come first: a worker that finds none would run without fault injection.
Status ChaosCluster::start(const ChaosClusterOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(emulation_.media, error);
  SHOAL_ASSIGN(faults_, emulation_.make_faults(names_));
  SHOAL_ASSIGN(breakpoint_, emulation_.breakpoint());
  if (options.lies > 0) SHOAL_TRY(emulation_.let_lie(names_.back(), options.lies));
  emulate::EmulationSettings settings{.media = emulation_.media, .dilation = emulation_.dilation};
  if (emulation_.is_on()) settings.file = std::filesystem::absolute(options.cluster_file);
  std::vector<std::string> flags = settings.words();
  flags.insert(flags.end(), {"--threads", "1"});
  workers_.emplace(cluster::LocalWorkersOptions{.program = options.program,
                                                .folder = folder_.path(),
                                                .flags = std::move(flags),
                                                .keep_weights = true});
  return workers_->start(names_);
}

// On a machine with many more threads than cores, a worker that compiles may be silent for longer
// than the heartbeat's timeout. No fault has been injected yet, so this is no finding: it is tried
// again.
Status ChaosCluster::connect_and_deploy(const ChaosClusterOptions& options) {
  constexpr int kTries = 10;
  Status status;
  for (int i = 0; i < kTries; ++i) {
    deployment_.reset();
    coordinator_.reset();
    transport_.reset();
    status = connect();
    if (status.ok()) status = deploy(options);
    const bool is_late = status.code() == Code::kUnavailable || status.code() == Code::kDeadline;
    // If all workers were lost, planning fails with another error than a loss.
    const bool has_lost = coordinator_ != nullptr && !coordinator_->lost().empty();
    if (status.ok() || (!is_late && !has_lost)) return status;
  }
  return status;
}

Status ChaosCluster::connect() {
  const cluster::ClusterFolder owner = workers_->owner();
  SHOAL_ASSIGN(const net::Identity identity, owner.coordinator());
  SHOAL_ASSIGN(transport_, emulation_.transport(identity, ""));
  SHOAL_ASSIGN(const auto listed, owner.workers());
  cluster::CoordinatorOptions options;
  // A new epoch for each try: workers then drop the plans of the one before.
  SHOAL_ASSIGN(options.epoch, owner.next_epoch());
  options.reached = [breakpoint = breakpoint_](cluster::FaultPoint point, int worker) {
    breakpoint->hit(worker, static_cast<int>(point));
  };
  SHOAL_ASSIGN(coordinator_, cluster::Coordinator::connect(listed, *transport_, options));
  return {};
}

Status ChaosCluster::deploy(const ChaosClusterOptions& options) {
  SHOAL_ASSIGN(deployment_, cluster::FailoverDeployment::start(
                                *coordinator_, {.plan = cluster::one_turn(options.plan),
                                                .standby = true,
                                                .retry_interval = std::chrono::milliseconds(50),
                                                .verify = options.verify,
                                                .judge = &device_,
                                                .grace = std::chrono::seconds(2)}));
  deployment_->settle();
  if (!emulation_.is_on()) return {};
  // Weights have travelled before links are slow.
  SHOAL_ASSIGN(const auto shaping, emulate::open_shaping(emulation_.media));
  shaping->store(true);
  return {};
}

ChaosCluster::Reply ChaosCluster::ask() {
  constexpr std::chrono::seconds kTimeout{20};
  const auto requests = check_->requests();
  Reply reply = ask(requests[random_() % requests.size()],
                    {.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
                         kTimeout * std::max(1.0, dilation()))});
  reply.ms /= dilation();
  return reply;
}

ChaosCluster::Reply ChaosCluster::ask_as(uint64_t client, std::chrono::milliseconds timeout) {
  const auto requests = check_->requests();
  return ask(requests[client % requests.size()], {.timeout = timeout, .client = client});
}

ChaosCluster::Reply ChaosCluster::ask(const EquivalenceCheck::Request& request,
                                      const cluster::RequestOptions& options) {
  std::vector<Tensor> outputs(request.expected.size());
  Reply reply;
  const auto begin = std::chrono::steady_clock::now();
  reply.status = deployment_->run(request.inputs, outputs, options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  reply.ms = took.count();
  // A wrong answer is the worst outcome, worse than any error, and is counted apart.
  reply.is_right = reply.status.ok() && outputs_match(outputs, request.expected);
  return reply;
}

std::vector<bool> ChaosCluster::present() const {
  std::vector<bool> there(names_.size(), true);
  for (int worker : coordinator_->lost()) there[static_cast<size_t>(worker)] = false;
  return there;
}

std::vector<std::string> ChaosCluster::left_out() const {
  std::vector<std::string> names;
  for (int worker : deployment_->left_out()) names.push_back(names_[static_cast<size_t>(worker)]);
  return names;
}

void ChaosCluster::settle() {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    deployment_->settle();
    if (coordinator_->lost().size() == deployment_->left_out().size()) return;
  }
}

bool outputs_match(std::span<const Tensor> got, std::span<const Tensor> want) {
  return relative_error(got, want) <= kSameAnswer &&
         std::ranges::equal(got, want, has_same_maximum);
}

Result<EquivalenceCheck> EquivalenceCheck::make(const Graph& graph, Device& device, uint64_t seed) {
  constexpr int kRequests = 4;
  SHOAL_ASSIGN(const auto executable, device.compile(graph));
  std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
  EquivalenceCheck check;
  for (int i = 0; i < kRequests; ++i) {
    Request& request = check.requests_.emplace_back();
    request.inputs = random_inputs(graph, rng);
    request.expected.resize(graph.outputs().size());
    SHOAL_TRY(executable->run(request.inputs, request.expected, {}));
  }
  return check;
}

}  // namespace shoal::chaos
