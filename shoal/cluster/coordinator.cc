// Dispatch between the three parts of a coordinator. Messages of one worker arrive on its reader
// thread without a lock; losses arrive under the lock of the links. The lock order is links, then
// runner or deployer, so neither calls the links while it holds its own lock.
#include "shoal/cluster/coordinator.h"

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {

Result<std::unique_ptr<Coordinator>> Coordinator::connect(std::span<const ListedWorker> workers,
                                                          net::Transport& transport,
                                                          CoordinatorOptions options) {
  std::vector<GreetedWorker> greeted;
  std::vector<Status> missing;
  for (Result<GreetedWorker>& one :
       connect_to_all(workers, transport, options.epoch, net::after(options.connect_timeout))) {
    if (one.ok()) {
      greeted.push_back(*std::move(one));
    } else {
      missing.push_back(one.status());
    }
  }
  const bool goes_on = missing.empty() || (options.partial && !greeted.empty());
  // The channels that did connect are closed here with `greeted`.
  if (!goes_on) return missing.front();
  std::unique_ptr<Coordinator> coordinator(
      new Coordinator(std::move(greeted), std::move(missing), transport, std::move(options)));
  coordinator->links_.start();
  return coordinator;
}

Coordinator::Coordinator(std::vector<GreetedWorker> workers, std::vector<Status> missing,
                         net::Transport& transport, CoordinatorOptions options)
    : missing_(std::move(missing)),
      links_(std::move(workers), transport, options.epoch, events()),
      runner_(links_, std::move(options.reached)),
      deployer_(links_, runner_) {}

Coordinator::~Coordinator() { links_.close(); }

LinkEvents Coordinator::events() {
  return {.received = [this](int worker, const auto& frame) { return handle(worker, frame); },
          .lost =
              [this](int worker, const Status& why) {
                deployer_.lose(worker, why);
                runner_.lose(worker, why);
              },
          .revived = [this](int worker) { runner_.revive(worker); }};
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

void Coordinator::leave_out(int worker, const Status& why) {
  const WorkerLinkPtr link = links_.link(worker);
  if (link == nullptr) return;
  links_.lose(worker, *link, why);
  link->channel().close();
}

Status Coordinator::handle(int worker, const net::Frame& frame) {
  message::Message message;
  SHOAL_TRY(parse(frame, message));
  switch (message.kind_case()) {
    case message::Message::kMissing:
      deployer_.take_missing(
          worker, {message.missing().hashes().begin(), message.missing().hashes().end()});
      return {};
    case message::Message::kReady:
      deployer_.take_ready(worker);
      return {};
    case message::Message::kWelcome:
      deployer_.take_clock(worker, message.welcome().clock());
      return {};
    case message::Message::kFailed:
      // Attempts are numbered from 1, so 0 means that the failure is about a deployment.
      if (message.failed().request() != 0) {
        runner_.take_failure(worker, message.failed());
      } else {
        deployer_.take_failure(worker,
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
    case message::Message::kTraced:
      return runner_.take_times(worker, message.traced());
    default:
      // The link to a worker that breaks the protocol is closed: nothing it says later can be
      // trusted.
      return Status(Code::kCorrupt, "a message that coordinators do not get");
  }
}

}  // namespace shoal::cluster
