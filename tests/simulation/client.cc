#include "client.h"

namespace shoal::simulation {
namespace {

using std::chrono::milliseconds;

Nanos nanos(milliseconds time) { return time.count() * kMillisecond; }

// So long, a request cannot help being answered where nothing is lost.
constexpr milliseconds kEnough{4'000};

bool is_worth_another_try(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kDeadline;
}

}  // namespace

Client::Client(World& world, ClientOptions options)
    : world_(world),
      options_(std::move(options)),
      machine_(make_machine(options_.name, static_cast<Nanos>(draw(1000 * kSecond)))) {}

void Client::start() {
  detach(spawn(machine_, [this] { live(); }));
}

void Client::live() {
  transport_ = world_.network.transport(options_.name, net::Role::kCoordinator, world_.channel);
  if (connect() && deploy()) {
    ready_ = true;
    while (!over_ || under_way_ > 0) wait(this, kNever, "waits for its end");
  }
  ready_ = false;
  deployments_.clear();
  if (coordinator_) world_.report.replayed += coordinator_->tally().replayed;
  coordinator_.reset();
  transport_.reset();
  ended_ = true;
}

bool Client::connect() {
  std::vector<cluster::ListedWorker> workers;
  for (int i = 0; i < world_.scene.workers; ++i)
    workers.push_back({worker_name(i), worker_name(i)});
  while (!over_ && !fenced_) {
    // A new one each time, as the owner's folder counts: workers that answered an attempt that
    // failed follow that one.
    const uint64_t epoch = options_.is_exclusive ? ++world_.latest_epoch : 0;
    auto connected = cluster::Coordinator::connect(workers, *transport_, {.epoch = epoch});
    if (connected.ok()) {
      coordinator_ = *std::move(connected);
      for (const auto& worker : workers) {
        uint64_t& acknowledged = world_.epochs[worker.name];
        acknowledged = std::max(acknowledged, epoch);
      }
      return true;
    }
    if (world_.faults == 0 && !fenced_) {
      violate(world_.report,
              "a coordinator cannot connect: " + std::string(connected.status().message()));
    }
    sleep_until(now() + nanos(options_.retry_interval));
  }
  return false;
}

bool Client::deploy() {
  const cluster::FailoverOptions options{
      .plan = cluster::one_turn([this](const cluster::Workers& set) -> Result<plan::Prediction> {
        const Scene::Plans& plans = upgraded_ ? world_.scene.next_plans : world_.scene.plans;
        const auto made = plans.find(set);
        if (made != plans.end()) return made->second;
        return Status(Code::kUnavailable, "no worker is left");
      }),
      .standby = options_.standby,
      .retry_interval = options_.retry_interval,
      .grace = options_.grace};
  while (!over_ && !fenced_) {
    auto started = cluster::FailoverDeployment::start(*coordinator_, options);
    if (started.ok()) {
      deployments_.push_back(*std::move(started));
      if (static_cast<int>(deployments_.size()) == options_.deployments) return true;
      continue;
    }
    judge_deployment(started.status());
    for (int worker : coordinator_->lost()) static_cast<void>(coordinator_->revive(worker));
    sleep_until(now() + nanos(options_.retry_interval));
  }
  return false;
}

void Client::ask(milliseconds timeout, bool is_last) {
  if (!ready_ || dead_) return;
  ++under_way_;
  detach(spawn(machine_, [this, timeout, is_last, deployment = draw(deployments_.size())] {
    run_request(deployment, timeout, is_last);
    --under_way_;
    wake(this, INT32_MAX);
  }));
}

void Client::run_request(size_t deployment, milliseconds timeout, bool is_last) {
  Asked asked{is_last ? "last request" : "request", now() + nanos(timeout), is_last, !is_last};
  const Status status = deployments_[deployment]->run(
      std::span(&world_.scene.inputs[asked.input], 1), asked.outputs, timeout);
  if (timeout >= kEnough && world_.must_answer()) asked.has_to_answer = true;
  judge(status, asked);
}

void Client::upgrade() {
  if (!ready_ || dead_) return;
  ++under_way_;
  detach(spawn(machine_, [this] {
    upgraded_ = true;
    for (const auto& deployment : deployments_) deployment->replan();
    --under_way_;
    wake(this, INT32_MAX);
  }));
}

void Client::measure(milliseconds timeout) {
  if (!ready_ || dead_) return;
  ++under_way_;
  detach(spawn(machine_, [this, timeout] {
    run_measured(timeout);
    --under_way_;
    wake(this, INT32_MAX);
  }));
}

void Client::run_measured(milliseconds timeout) {
  cluster::Workers present;
  for (int i = 0; i < world_.scene.workers; ++i) present.insert(i);
  for (int worker : coordinator_->lost()) present.erase(worker);
  if (present.empty()) return;
  auto remote = coordinator_->deploy(world_.scene.plans.at(present).scheduled, true);
  if (!remote.ok()) return judge_deployment(remote.status());
  plan::Timeline timeline;
  Asked asked{"measured request", now() + nanos(timeout), false, true};
  const Status status = (*remote)->run(std::span(&world_.scene.inputs[asked.input], 1),
                                       asked.outputs, timeout, &timeline);
  asked.has_to_answer = timeout >= kEnough && world_.faults == 0;
  judge(status, asked);
}

void Client::judge(const Status& status, const Asked& asked) {
  const std::string who = options_.name + ": a " + asked.what;
  const std::string why = ": " + std::string(status.message());
  if (now() > asked.deadline + world_.slack) {
    violate(world_.report, who + " ended " +
                               std::to_string((now() - asked.deadline) / kMillisecond) +
                               " ms after its deadline" + why);
  }
  if (status.ok()) {
    ++world_.report.answered;
    if (world_.scene.is_answer(asked.input, asked.outputs, upgraded_)) return;
    violate(world_.report, who + " got a wrong answer");
  }
  ++world_.report.failed;
  if (status.code() == Code::kExhausted && asked.may_be_refused) return;
  if (!is_worth_another_try(status)) {
    violate(world_.report, who + " failed with an error that it may not have" + why);
  }
  if (asked.has_to_answer && !fenced_) violate(world_.report, who + " was not answered" + why);
}

void Client::judge_deployment(const Status& status) const {
  if (fenced_) return;
  const bool may_fail = world_.faults > 0 || world_.is_slow;
  if (may_fail && is_worth_another_try(status)) return;
  violate(world_.report,
          options_.name + ": a plan is not deployed: " + std::string(status.message()));
}

void Client::end() {
  over_ = true;
  wake(this, INT32_MAX);
}

void Client::kill() {
  dead_ = true;
  ready_ = false;
  simulation::kill(machine_);
  world_.network.lose(machine_, draw(2) == 0);
}

}  // namespace shoal::simulation
