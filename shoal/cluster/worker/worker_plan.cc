// One worker's part of a plan, from message to results. An assignment comes from a peer: pieces
// must match the graphs, sends must lie in outputs, codes must contain what is read of them; only
// then is anything compiled. Tasks run on the one computing thread; each send runs on the thread of
// its peer, so a slow peer delays neither computing nor other peers.
#include "shoal/cluster/worker/worker_plan.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/base/threads/background_thread.h"
#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {
namespace {

Result<std::vector<plan::Piece>> decode_all(
    const google::protobuf::RepeatedPtrField<message::Piece>& from) {
  std::vector<plan::Piece> pieces;
  for (const message::Piece& piece : from) {
    SHOAL_ASSIGN(plan::Piece decoded, decode(piece));
    pieces.push_back(std::move(decoded));
  }
  return pieces;
}

// OK iff the pieces have the shapes of the graph's inputs or outputs.
Status check_pieces(const Graph& graph, std::span<const ValueId> values,
                    const std::vector<plan::Piece>& pieces) {
  if (values.size() != pieces.size()) return invalid("pieces do not match the graph");
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (graph[values[i]].type.shape != pieces[i].region.shape()) {
      return invalid("pieces do not match the graph");
    }
  }
  return {};
}

// OK iff the assignment is not larger than any that a sensible plan has. Each request holds a
// record for each piece, and each peer costs two threads.
Status check_sizes(const message::Assignment& assignment) {
  constexpr int kMostPeers = 1024;
  constexpr size_t kMostTasks = size_t{1} << 14, kMostPieces = size_t{1} << 15;
  if (assignment.peers_size() > kMostPeers || assignment.senders_size() > kMostPeers) {
    return invalid("a plan with too many workers");
  }
  size_t pieces = 0;
  for (const message::Task& task : assignment.tasks()) {
    pieces += static_cast<size_t>(task.inputs_size()) + static_cast<size_t>(task.outputs_size()) +
              static_cast<size_t>(task.sends_size());
    for (const message::Code& code : task.codes()) {
      pieces += static_cast<size_t>(code.members_size());
    }
  }
  if (static_cast<size_t>(assignment.tasks_size()) > kMostTasks || pieces > kMostPieces) {
    return invalid("a plan with too many tasks or pieces");
  }
  return {};
}

// OK iff every worker that is sent to has exactly one address.
Status check_peers(const message::Assignment& assignment) {
  std::set<int> known = {plan::kCoordinator};
  for (const message::Peer& peer : assignment.peers()) {
    if (peer.worker() < 0 || !known.insert(peer.worker()).second) {
      return invalid("a plan names a worker twice");
    }
    if (peer.name().empty()) return invalid("a plan names an address without its worker");
  }
  for (const message::Task& task : assignment.tasks()) {
    for (const message::Send& order : task.sends()) {
      if (!known.contains(order.to())) return invalid("a plan names no address of a worker");
    }
  }
  return {};
}

bool contains(const Region& outer, const Region& inner) {
  return outer.begin.rank() == inner.begin.rank() && plan::intersection(outer, inner) == inner;
}

// OK iff inputs that are members of the code lie in the boxes that are decoded, and no value is in
// two codes.
Status check_code(const Graph& graph, const std::vector<plan::Piece>& inputs, const TaskCode& code,
                  std::set<ValueId>& coded) {
  for (const plan::Piece& member : code.members) {
    if (!coded.insert(member.value).second) return invalid("a value is in two codes");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto member = std::ranges::find(code.members, inputs[i].value, &plan::Piece::value);
    if (member == code.members.end()) continue;
    const bool fits = contains(member->region, inputs[i].region) &&
                      graph[graph.inputs()[i]].type.dtype == code.dtype;
    if (!fits) return invalid("a code does not fit what is read of it");
  }
  return {};
}

// The codes that tasks read, each once: tasks of one worker may read the same.
std::vector<TaskCode> codes_of(const std::vector<WorkerTask>& tasks) {
  std::vector<TaskCode> codes;
  for (const WorkerTask& task : tasks) {
    for (const TaskCode& code : task.codes) {
      const bool known = std::ranges::any_of(
          codes, [&](const TaskCode& other) { return other.members == code.members; });
      if (!known) codes.push_back(code);
    }
  }
  return codes;
}

size_t count_sends(const message::Assignment& assignment) {
  size_t sends = 0;
  for (const message::Task& task : assignment.tasks()) {
    sends += static_cast<size_t>(task.sends_size());
  }
  return sends;
}

Status parse_assignment(const net::Buffer& from, message::Assignment& to) {
  const auto bytes = from.bytes;
  if (bytes.size() > kMostAssignmentBytes) return invalid("an assignment is too long");
  if (to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return Status(Code::kCorrupt, "an assignment cannot be read");
}

Result<WorkerTask> compile_task(const message::Task& from, const WorkerResources& resources) {
  WorkerTask task;
  SHOAL_ASSIGN(const Graph graph, decode(from.graph(), [&](const Hash& h, const TensorType& t) {
                 return resources.store.find(h, t);
               }));
  SHOAL_ASSIGN(task.inputs, decode_all(from.inputs()));
  SHOAL_ASSIGN(task.outputs, decode_all(from.outputs()));
  SHOAL_TRY(check_pieces(graph, graph.inputs(), task.inputs));
  SHOAL_TRY(check_pieces(graph, graph.outputs(), task.outputs));
  for (const message::Send& order : from.sends()) {
    SHOAL_ASSIGN(plan::Piece piece, decode(order.piece()));
    const bool made = std::ranges::any_of(task.outputs, [&](const plan::Piece& output) {
      return output.value == piece.value && contains(output.region, piece.region);
    });
    if (!made) return invalid("a task is to send what it does not make");
    task.sends.push_back({std::move(piece), order.to()});
  }
  std::set<ValueId> coded;
  for (const message::Code& code : from.codes()) {
    SHOAL_ASSIGN(TaskCode decoded, decode(code));
    SHOAL_TRY(check_code(graph, task.inputs, decoded, coded));
    task.codes.push_back(std::move(decoded));
  }
  SHOAL_ASSIGN(task.executable, resources.programs.compile(from.graph(), graph));
  // A few bytes of input can be made into values that do not fit this machine.
  if (task.executable->memory().planned > static_cast<int64_t>(resources.request_bytes)) {
    return Status(Code::kExhausted, "a task needs more memory than there is for one");
  }
  return task;
}

}  // namespace

WorkerPlan::WorkerPlan() = default;
WorkerPlan::~WorkerPlan() {
  for (const auto& [worker, peer] : peers_) peer->forget(plan_);
  peers_.clear();
  sender_channels_.clear();
  to_coordinator_.reset();
  ended_();
}

Result<std::shared_ptr<WorkerPlan>> WorkerPlan::read(const message::Deploy& deploy,
                                                     const net::Frame& frame,
                                                     ChannelPtr coordinator) {
  std::shared_ptr<WorkerPlan> worker_plan(new WorkerPlan);
  worker_plan->plan_ = deploy.plan();
  worker_plan->traced_ = deploy.traced();
  worker_plan->coordinator_ = std::move(coordinator);
  message::Assignment assignment;
  SHOAL_TRY(parse_assignment(frame.payload, assignment));
  SHOAL_TRY(check_sizes(assignment));
  SHOAL_TRY(check_peers(assignment));
  worker_plan->survives_ = assignment.survives();
  worker_plan->senders_.insert(assignment.senders().begin(), assignment.senders().end());
  // As bytes, which count for the coordinator's budget; parsed it may take many times as much.
  worker_plan->assignment_ = frame.payload;
  for (const message::Task& task : assignment.tasks()) {
    SHOAL_ASSIGN(const std::vector<Hash> hashes, hashes_in(task.graph()));
    worker_plan->weights_.insert(hashes.begin(), hashes.end());
  }
  return worker_plan;
}

Status WorkerPlan::start(const WorkerResources& resources) {
  // Taken before any read or write: a hostile coordinator starts a plan many times at once.
  if (starting_.exchange(true)) return invalid("the plan has been started already");
  message::Assignment assignment;
  SHOAL_TRY(parse_assignment(assignment_, assignment));
  assignment_ = {};
  Status compiled;
  // The barrier is inside, because the work is done on another thread.
  run_at_low_priority(
      [&] { compiled = catch_exhaustion([&] { return compile(assignment, resources); }); });
  SHOAL_TRY(compiled);
  ended_ = resources.ended;
  SHOAL_TRY(connect(assignment, resources.peers));
  // Publishes all members above to threads that see started().
  started_.store(true, std::memory_order_release);
  return {};
}

Status WorkerPlan::compile(const message::Assignment& assignment,
                           const WorkerResources& resources) {
  std::vector<WorkerTask> tasks;
  for (const message::Task& from : assignment.tasks()) {
    SHOAL_ASSIGN(WorkerTask task, compile_task(from, resources));
    tasks.push_back(std::move(task));
    resources.compiled();
  }
  SHOAL_TRY(check_dtypes(tasks));
  if (traced_) {
    recorder_ = std::make_unique<Recorder>(plan_, tasks.size(), count_sends(assignment));
  }
  deployment_ = std::make_unique<Deployment>(
      std::move(tasks), std::chrono::milliseconds(assignment.wait_ms()), resources.request_bytes);
  if (assignment.checked()) witness_ = std::make_unique<Witness>(codes_of(deployment_->tasks()));
  return {};
}

Status WorkerPlan::connect(const message::Assignment& assignment, Peers& peers) {
  to_coordinator_ = peers.to(coordinator_);
  for (const message::Peer& peer : assignment.peers()) {
    SHOAL_ASSIGN(const auto made, peers.at(peer.address(), peer.name()));
    made->expect(plan_, senders_.contains(peer.name()));
    peers_[peer.worker()] = made;
  }
  for (const std::string& sender : senders_) {
    SHOAL_ASSIGN(sender_channels_.emplace_back(), peers.with(sender));
  }
  return {};
}

bool WorkerPlan::has_sender(const net::Channel& channel) const {
  return &channel == coordinator_.get() || senders_.contains(channel.peer().name);
}

void WorkerPlan::rejoin(int worker) {
  const auto peer = peers_.find(worker);
  if (peer == peers_.end()) return;
  peer->second->expect(plan_, senders_.contains(peer->second->name()));
}

Status WorkerPlan::take(const message::Data& data, const net::Frame& frame,
                        const std::string& from) {
  // A reply to it could not be told from one about the plan.
  if (data.request() == 0) return Status(Code::kCorrupt, "a piece of no request");
  const Status status = catch_exhaustion([&] { return put(data, frame, from); });
  if (status.ok() || status.code() == Code::kCorrupt) return status;
  // To the coordinator, not to the sender: it waits for this request.
  fail(data.request(), status);
  return {};
}

Status WorkerPlan::put(const message::Data& data, const net::Frame& frame,
                       const std::string& from) {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const std::optional<DType> dtype = deployment_->dtype_of(piece.value);
  if (!dtype || static_cast<uint32_t>(*dtype) != data.dtype()) {
    return Status(Code::kCorrupt, "a piece of a value that no task here reads");
  }
  SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, *dtype, piece.region.shape()));
  // Before put(): a task may run because of this piece, and complete the record, at once.
  if (recorder_ != nullptr) recorder_->received(data.request(), piece);
  const Status put = deployment_->put(data.request(), piece, elements,
                                      std::chrono::steady_clock::now(), deadline_of(data));
  // The coordinator is told, with plan and request, also of pieces from other workers: it alone can
  // do something about it.
  if (!put.ok()) {
    fail(data.request(), put);
    return {};
  }
  // What the coordinator sends needs no comparison: it has the request.
  if (witness_ != nullptr && !from.empty()) {
    report_disputes(data.request(), witness_->add(data.request(), from, piece, elements));
  }
  return {};
}

void WorkerPlan::check(const message::Check& check) {
  if (witness_ == nullptr) return;
  report_disputes(check.request(),
                  witness_->check(check.request(), {check.pieces(), check.tolerance()}));
}

// Nothing is reported before all pieces have come.
void WorkerPlan::report_disputes(uint64_t request,
                                 const std::optional<std::vector<Dispute>>& disputes) {
  if (!disputes) return;
  message::Message message;
  message.mutable_checked()->set_plan(plan_);
  message.mutable_checked()->set_request(request);
  encode(*disputes, *message.mutable_checked());
  to_coordinator_->post([channel = coordinator_, message] {
    static_cast<void>(send(*channel, message));  // a coordinator that is gone does not wait
  });
}

// A second barrier, for the little memory that taking a task and reporting its failure need.
bool WorkerPlan::compute_one(const FaultHook& reached) {
  bool computed = false;
  static_cast<void>(catch_exhaustion([&] {
    computed = compute_next(reached);
    return Status();
  }));
  return computed;
}

bool WorkerPlan::compute_next(const FaultHook& reached) {
  const std::optional<ReadyTask> task = deployment_->take(std::chrono::steady_clock::now());
  if (!task) return false;
  if (reached) reached(FaultPoint::kComputing);
  const Status status =
      catch_exhaustion([&] { return task->status.ok() ? run(*task) : task->status; });
  if (!status.ok()) fail(task->request, status);
  if (reached) reached(FaultPoint::kComputed);
  return true;
}

Status WorkerPlan::run(const ReadyTask& ready) {
  const WorkerTask& task = deployment_->tasks()[ready.task];
  std::vector<Tensor> outputs(task.outputs.size());
  const auto begin = std::chrono::steady_clock::now();
  SHOAL_TRY(task.executable->run(ready.inputs, outputs, {}));
  const auto end = std::chrono::steady_clock::now();
  // Other machines wait for the outputs: send before the next task.
  for (const SendOrder& order : task.sends) {
    const auto made = std::ranges::find_if(task.outputs, [&](const plan::Piece& output) {
      return output.value == order.piece.value && contains(output.region, order.piece.region);
    });
    const Tensor& whole = outputs[static_cast<size_t>(made - task.outputs.begin())];
    post(ready, order,
         made->region == order.piece.region
             ? whole
             : crop(whole, plan::relative(order.piece.region, made->region)));
  }
  if (recorder_ != nullptr) record(recorder_->ran(ready.request, begin, end));
  SHOAL_TRY(deployment_->finish(ready, outputs, std::chrono::steady_clock::now()));
  for (size_t i = 0; witness_ != nullptr && i < outputs.size(); ++i) {
    report_disputes(ready.request, witness_->add(ready.request, {}, task.outputs[i], outputs[i]));
  }
  return {};
}

// The job holds a weak reference: sends that still wait when the plan is over are dropped.
void WorkerPlan::post(const ReadyTask& ready, const SendOrder& order, const Tensor& part) {
  auto job = [self = weak_from_this(), request = ready.request, deadline = ready.deadline, &order,
              part] {
    const auto worker_plan = self.lock();
    if (worker_plan == nullptr) return;
    static_cast<void>(catch_exhaustion([&] {
      worker_plan->deliver(request, order, part, deadline);
      return Status();
    }));
  };
  // Expired pieces are dropped when a peer's queue is full.
  auto is_over = [deadline = ready.deadline] {
    return deadline < std::chrono::steady_clock::now();
  };
  const size_t bytes = part.bytes().size();
  const bool taken = order.to == plan::kCoordinator
                         ? to_coordinator_->post(std::move(job), bytes, std::move(is_over))
                         : peers_.at(order.to)->post(std::move(job), bytes, std::move(is_over));
  if (taken) return;
  fail_to_reach(order.to, ready.request,
                Status(Code::kExhausted, "a peer does not take what is sent"));
}

void WorkerPlan::deliver(uint64_t request, const SendOrder& order, const Tensor& part,
                         net::Deadline deadline) {
  // Recorded even if the send fails: a plan that survives the failure still needs complete times.
  if (recorder_ != nullptr) record(recorder_->sending(request, order.piece, order.to));
  const auto send = [&](net::Channel& channel) {
    return send_piece(channel, plan_, request, order.piece, part, deadline);
  };
  const Status sent = catch_exhaustion([&] {
    return order.to == plan::kCoordinator ? send(*coordinator_)
                                          : peers_.at(order.to)->send(plan_, send);
  });
  // After the deadline the report is no longer needed.
  const bool is_over = deadline <= std::chrono::steady_clock::now();
  if (sent.ok() || (sent.code() == Code::kDeadline && is_over)) return;
  fail_to_reach(order.to, request, sent);
}

// Only the coordinator hears of all losses and can decide whether they are too many.
void WorkerPlan::fail_to_reach(int peer, uint64_t request, const Status& status) {
  if (!survives_) forget(request);
  report(request, status, peer);
}

// Queued behind outputs, which are more urgent.
void WorkerPlan::record(std::optional<message::Message> ended) {
  if (!ended) return;
  const size_t bytes = ended->ByteSizeLong();
  auto tell = [channel = coordinator_, ended = *std::move(ended)] {
    static_cast<void>(send(*channel, ended));  // a coordinator that is gone does not wait
  };
  to_coordinator_->post(std::move(tell), bytes);
}

void WorkerPlan::forget(uint64_t request) {
  deployment_->cancel(request);
  if (recorder_ != nullptr) recorder_->forget(request);
  if (witness_ != nullptr) witness_->forget(request);
}

void WorkerPlan::say_cut_off_from(const std::string& peer) {
  message::Message message;
  message.mutable_cut()->set_plan(plan_);
  message.mutable_cut()->set_from(peer);
  to_coordinator_->post([channel = coordinator_, message] {
    static_cast<void>(send(*channel, message));  // a coordinator that is gone does not wait
  });
}

void WorkerPlan::fail(uint64_t request, const Status& status) {
  forget(request);
  report(request, status, plan::kCoordinator);
}

void WorkerPlan::report(uint64_t request, const Status& status, int unreached) {
  message::Message message;
  message::Failed& failed = *message.mutable_failed();
  failed.set_plan(plan_);
  failed.set_request(request);
  failed.set_code(static_cast<uint32_t>(status.code()));
  failed.set_text(std::string(status.message()));
  // kCoordinator, -1, becomes 0: no worker is to blame.
  failed.set_unreached(static_cast<uint32_t>(unreached + 1));
  // Neither the computing thread nor a reader waits for a slow coordinator. If this does not fit
  // its queue, nothing else does.
  to_coordinator_->post(
      [channel = coordinator_, message] {
        static_cast<void>(send(*channel, message));  // a coordinator that is gone does not wait
      },
      message.ByteSizeLong());
}

}  // namespace shoal::cluster
