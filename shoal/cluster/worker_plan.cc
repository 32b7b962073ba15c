// One worker's part of a plan, from message to results. An assignment comes from a peer: pieces
// must match the graphs, sends must lie in outputs, codes must contain what is read of them; only
// then is anything compiled. Tasks run on the one computing thread; each send runs on the thread of
// its peer, so a slow peer holds up neither computing nor other peers.
#include "shoal/cluster/worker_plan.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/base/background_thread.h"
#include "shoal/cluster/message_io.h"

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

// OK iff every worker that is sent to has exactly one address.
Status check_peers(const message::Assignment& assignment) {
  std::set<int> known = {plan::kCoordinator};
  for (const message::Peer& peer : assignment.peers()) {
    if (peer.worker() < 0 || !known.insert(peer.worker()).second) {
      return invalid("a plan names a worker twice");
    }
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

size_t count_sends(const message::Assignment& assignment) {
  size_t sends = 0;
  for (const message::Task& task : assignment.tasks()) {
    sends += static_cast<size_t>(task.sends_size());
  }
  return sends;
}

}  // namespace

WorkerPlan::WorkerPlan() = default;
WorkerPlan::~WorkerPlan() = default;

Result<std::shared_ptr<WorkerPlan>> WorkerPlan::read(const message::Deploy& deploy,
                                                     const net::Frame& frame,
                                                     ChannelPtr coordinator) {
  std::shared_ptr<WorkerPlan> worker_plan(new WorkerPlan);
  worker_plan->plan_ = deploy.plan();
  worker_plan->traced_ = deploy.traced();
  worker_plan->coordinator_ = std::move(coordinator);
  worker_plan->assignment_ = std::make_unique<message::Assignment>();
  const auto bytes = frame.payload.bytes;
  if (!worker_plan->assignment_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(Code::kCorrupt, "an assignment cannot be read");
  }
  SHOAL_TRY(check_peers(*worker_plan->assignment_));
  worker_plan->survives_ = worker_plan->assignment_->survives();
  for (const message::Task& task : worker_plan->assignment_->tasks()) {
    SHOAL_ASSIGN(const std::vector<Hash> hashes, hashes_in(task.graph()));
    worker_plan->weights_.insert(hashes.begin(), hashes.end());
  }
  return worker_plan;
}

Status WorkerPlan::start(Programs& programs, const Store& store, Peers& peers) {
  if (started()) return invalid("the plan has been started already");
  Status compiled;
  run_at_low_priority([&] { compiled = compile(programs, store); });
  SHOAL_TRY(compiled);
  if (traced_) {
    recorder_ =
        std::make_unique<Recorder>(plan_, deployment_->tasks().size(), count_sends(*assignment_));
  }
  to_coordinator_ = peers.to(coordinator_);
  for (const message::Peer& peer : assignment_->peers()) {
    peers_[peer.worker()] = peers.at(peer.address());
  }
  assignment_.reset();
  // Publishes all members above to threads that see started().
  started_.store(true, std::memory_order_release);
  return {};
}

Status WorkerPlan::compile(Programs& programs, const Store& store) {
  std::vector<WorkerTask> tasks;
  for (const message::Task& from : assignment_->tasks()) {
    SHOAL_ASSIGN(WorkerTask task, compile_task(from, programs, store));
    tasks.push_back(std::move(task));
  }
  deployment_ = std::make_unique<Deployment>(std::move(tasks),
                                             std::chrono::milliseconds(assignment_->wait_ms()));
  return {};
}

Result<WorkerTask> WorkerPlan::compile_task(const message::Task& from, Programs& programs,
                                            const Store& store) {
  WorkerTask task;
  SHOAL_ASSIGN(const Graph graph, decode(from.graph(), [&](const Hash& h, const TensorType& t) {
                 return store.find(h, t);
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
  SHOAL_ASSIGN(task.executable, programs.compile(from.graph(), graph));
  return task;
}

void WorkerPlan::rejoin(int worker) {
  const auto peer = peers_.find(worker);
  if (peer == peers_.end()) return;
  peer->second->forget(plan_);  // pieces that were lost then are not waited for
  peer->second->expect();
}

Status WorkerPlan::take(const message::Data& data, const net::Frame& frame) {
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
  // Told to the coordinator by the names of plan and request, whoever sent the piece: it alone can
  // do something about it.
  if (!put.ok()) fail(data.request(), put);
  return {};
}

bool WorkerPlan::compute_one(const FaultHook& reached) {
  const std::optional<ReadyTask> task = deployment_->take(std::chrono::steady_clock::now());
  if (!task) return false;
  if (reached) reached(FaultPoint::kComputing);
  if (const Status status = run(*task); !status.ok()) fail(task->request, status);
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
  deployment_->finish(ready, outputs, std::chrono::steady_clock::now());
  return {};
}

// The job holds a weak reference: sends that still wait when the plan is over are dropped.
void WorkerPlan::post(const ReadyTask& ready, const SendOrder& order, const Tensor& part) {
  auto job = [self = weak_from_this(), request = ready.request, deadline = ready.deadline, &order,
              part] {
    if (const auto worker_plan = self.lock()) worker_plan->deliver(request, order, part, deadline);
  };
  // What is over when a peer has no room for more gives way.
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
  const Status sent =
      order.to == plan::kCoordinator ? send(*coordinator_) : peers_.at(order.to)->send(plan_, send);
  // After the deadline nobody waits to hear of it.
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
  // Neither the thread that computes nor one that reads waits for a coordinator that is slow. One
  // that has no room for this takes nothing else either.
  to_coordinator_->post(
      [channel = coordinator_, message] {
        static_cast<void>(send(*channel, message));  // a coordinator that is gone does not wait
      },
      message.ByteSizeLong());
}

}  // namespace shoal::cluster
