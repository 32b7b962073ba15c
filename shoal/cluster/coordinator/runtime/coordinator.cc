// Dispatch between the parts of a coordinator. Messages of one worker arrive on its reader
// thread without a lock; losses arrive under the lock of the links. The lock order is links, then
// runner or deployer, so neither calls the links while it holds its own lock.
#include "shoal/cluster/coordinator/runtime/coordinator.h"

#include <random>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/messages/permissions.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

RemotePlan::RemotePlan(PlanDeployer& deployer, RequestRunner& runner, DeployedPlanPtr deployed,
                       EncodedPlanPtr encoded, bool traced)
    : deployer_(deployer),
      runner_(runner),
      deployed_(std::move(deployed)),
      encoded_(std::move(encoded)),
      traced_(traced),
      workers_(plan::workers_of(deployed_->scheduled.plan())) {}

namespace {

// The errors of workers that did not answer.
std::vector<Status> errors_of(std::span<const Result<GreetedWorker>> greeted) {
  std::vector<Status> errors;
  for (const auto& one : greeted) {
    if (!one.ok()) errors.push_back(one.status());
  }
  return errors;
}

uint64_t random_nonce() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;  // 0 means that it is unknown
}

}  // namespace

Result<std::unique_ptr<Coordinator>> Coordinator::connect(std::span<const ListedWorker> workers,
                                                          net::Transport& transport,
                                                          CoordinatorOptions options) {
  EpochClaim epoch{options.epoch, random_nonce(), options.outranked};
  auto greeted = connect_to_all(workers, transport, epoch, net::after(options.connect_timeout));
  const std::vector<Status> missing = errors_of(greeted);
  const bool goes_on = missing.empty() || (options.partial && missing.size() < greeted.size());
  // The channels that did connect are closed here with `greeted`.
  if (!goes_on) return missing.front();
  std::unique_ptr<Coordinator> coordinator(new Coordinator(workers, std::move(greeted), transport,
                                                           std::move(epoch), std::move(options)));
  coordinator->links_.start();
  return coordinator;
}

Coordinator::Coordinator(std::span<const ListedWorker> workers,
                         std::vector<Result<GreetedWorker>> greeted, net::Transport& transport,
                         EpochClaim epoch, CoordinatorOptions options)
    : missing_(errors_of(greeted)),
      links_(workers, std::move(greeted), transport, std::move(epoch), events()),
      runner_(links_, std::move(options.reached)),
      deployer_(links_, runner_, std::move(options.deploy)) {}

Coordinator::~Coordinator() { links_.close(); }

LinkEvents Coordinator::events() {
  return {.place = [this](int worker, net::Bytes control,
                          size_t bytes) { return place(worker, control, bytes); },
          .received = [this](int worker, net::Role role,
                             const auto& frame) { return handle(worker, role, frame); },
          .lost =
              [this](int worker, const Status& why) {
                deployer_.lose(worker, why);
                runner_.lose(worker, why);
                tasks_.lose(worker, why);
              },
          .revived =
              [this](int worker) {
                runner_.revive(worker);
                tasks_.revive(worker);
              }};
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const Graph& graph, const plan::Plan& plan,
                                                        bool traced) {
  SHOAL_TRY(plan::verify(graph, plan, static_cast<int>(worker_count())));
  SHOAL_ASSIGN(const plan::ScheduledPlan scheduled, plan::ScheduledPlan::make(graph, plan));
  return deploy(scheduled, traced);
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(const plan::ScheduledPlan& scheduled,
                                                        bool traced) {
  SHOAL_ASSIGN(EncodedPlanPtr encoded, encode(scheduled));
  return deploy(std::move(encoded), traced);
}

Result<std::unique_ptr<RemotePlan>> Coordinator::deploy(EncodedPlanPtr encoded, bool traced) {
  SHOAL_ASSIGN(DeployedPlanPtr deployed, deployer_.deploy(*encoded, traced));
  return std::unique_ptr<RemotePlan>(
      new RemotePlan(deployer_, runner_, std::move(deployed), std::move(encoded), traced));
}

Workers Coordinator::present() const {
  Workers all;
  for (size_t w = 0; w < links_.size(); ++w) all.insert(static_cast<int>(w));
  for (int worker : links_.lost()) all.erase(worker);
  return all;
}

void Coordinator::ask_for_load() const {
  message::Message ask;
  ask.mutable_ask();
  for (int worker : present()) {
    static_cast<void>(links_.send(worker, ask));  // its reader notices a loss
  }
}

// A peer's figures: implausible ones are ignored.
void Coordinator::take_state(int worker, const message::State& state) {
  constexpr uint32_t kMostCores = 1 << 16;
  const double others = state.others_load();
  const bool makes_sense =
      others >= 0 && others <= kMostCores && state.cores() > 0 && state.cores() <= kMostCores;
  if (!makes_sense) return;
  links_.set_slowdown(worker, plan::slowdown({.cores = static_cast<int>(state.cores()),
                                              .threads = links_.info(worker).threads,
                                              .others = others}));
}

void Coordinator::leave_out(int worker, const Status& why) {
  const WorkerLinkPtr link = links_.link(worker);
  if (link == nullptr) return;
  links_.lose(worker, *link, why);
  link->channel().close();
}

// Only pieces of answers have payloads, and the plan says how long they are; and what workers say
// in a task.
Result<net::Buffer> Coordinator::place(int worker, net::Bytes control, size_t bytes) {
  message::Message message;
  if (!message.ParseFromArray(control.data(), static_cast<int>(control.size()))) message.Clear();
  if (message.has_task_message()) return tasks_.place(message.task_message(), bytes);
  if (!message.has_data()) return Status(Code::kCorrupt, "a payload that was not asked for");
  SHOAL_TRY(runner_.expect(worker, message.data(), bytes));
  return net::Buffer::allocate(bytes);
}

Status Coordinator::handle(int worker, net::Role role, const net::Frame& frame) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  // A status that is not OK closes the link: nothing that the worker says later can be trusted.
  SHOAL_TRY(check_for_coordinator(message, role));
  switch (message.kind_case()) {
    case message::Message::kMissing:
      return deployer_.take_missing(worker, message.missing());
    case message::Message::kStored:
      deployer_.take_stored(worker, message.stored().hash(), message.stored().bytes());
      return {};
    case message::Message::kWorking:
      deployer_.take_working(worker, message.working().plan());
      return {};
    case message::Message::kReady:
      deployer_.take_ready(worker, message.ready().plan());
      return {};
    case message::Message::kWelcome:
      // Clocks are subtracted, which must not overflow.
      if (message.welcome().clock() < 0) return Status(Code::kCorrupt, "a clock before its start");
      deployer_.take_clock(worker, message.welcome().clock());
      return {};
    case message::Message::kState:
      take_state(worker, message.state());
      return {};
    case message::Message::kFailed:
      if (message.failed().task() != 0) {
        tasks_.take_failure(worker, message.failed().task(), status_of(message.failed()));
        return {};
      }
      // Attempts are numbered from 1, so 0 means that the failure is about a deployment.
      if (message.failed().request() != 0) {
        runner_.take_failure(worker, message.failed());
      } else {
        deployer_.take_failure(worker, message.failed().plan(),
                               status_of(message.failed()).at("worker " + links_.name(worker)));
      }
      return {};
    case message::Message::kCut:
      runner_.take_cut(worker, message.cut());
      return {};
    case message::Message::kChecked:
      return runner_.take_report(worker, message.checked());
    case message::Message::kData:
      return runner_.take(worker, message.data(), frame);
    case message::Message::kTaskReady:
      return tasks_.take_ready(worker, message.task_ready().task());
    case message::Message::kTaskMessage:
      return tasks_.take_message(worker, message.task_message().task(), frame.payload);
    case message::Message::kDenyList:
      return links_.learn(message.deny_list().text());
    case message::Message::kTraced:
      return runner_.take_times(worker, message.traced());
    default:
      return Status(Code::kCorrupt, "a message that coordinators do not get");
  }
}

}  // namespace shoal::cluster
