// Dataflow of one worker. For each request and each task, a Filling per input keeps the boxes that
// are missing. A task is ready when all inputs are full, or when enough members of a code are and
// the wait for the rest is over. Tasks of a request run in order, one at a time; requests are
// independent, and the oldest that can go on is served first. All state is bounded: by
// kMostRequests requests, by kMostBoxes boxes for each input, by most_bytes_ of inputs that are put
// together here, and by kMostRemembered numbers of requests that are over.
#include "shoal/cluster/tasks/deployment.h"

#include <algorithm>
#include <utility>

#include "shoal/cluster/messages/catch_exhaustion.h"
#include "shoal/plan/part.h"

namespace shoal::cluster {
namespace {

// Each request holds its own tensors; a coordinator that floods a worker gets an error instead.
constexpr size_t kMostRequests = 64;
// Pieces of odd shapes cut the missing part of an input into ever more boxes.
constexpr size_t kMostBoxes = 256;

TensorType input_type(const WorkerTask& task, size_t input) {
  const Graph& graph = task.executable->graph();
  return graph[graph.inputs()[input]].type;
}

bool meet(const plan::Piece& a, const plan::Piece& b) {
  return a.value == b.value && a.region.begin.rank() == b.region.begin.rank() &&
         !plan::is_empty(plan::intersection(a.region, b.region));
}

bool reads(const WorkerTask& task, const plan::Piece& piece) {
  const auto is_met = [&](const plan::Piece& wanted) { return meet(wanted, piece); };
  return std::ranges::any_of(task.inputs, is_met) ||
         std::ranges::any_of(task.codes, [&](const TaskCode& code) {
           return std::ranges::any_of(code.members, is_met);
         });
}

bool is_data_of(const TaskCode& code, ValueId value) {
  const auto it = std::ranges::find(code.members, value, &plan::Piece::value);
  return it - code.members.begin() < static_cast<std::ptrdiff_t>(code.data_count());
}

template <class Fillings>
size_t count_full(const Fillings& fillings) {
  return static_cast<size_t>(
      std::ranges::count_if(fillings, [](const auto& filling) { return filling.is_full(); }));
}

}  // namespace

std::vector<SendOrder> sends_of(const plan::Schedule& schedule, const plan::Part& part,
                                int worker) {
  std::vector<SendOrder> sends;
  for (const plan::Transfer& transfer : schedule.transfers) {
    const plan::Piece& piece = transfer.piece;
    const bool made = std::ranges::any_of(part.outputs, [&](const plan::Piece& output) {
      return output.value == piece.value &&
             plan::intersection(output.region, piece.region) == piece.region;
    });
    if (transfer.from == worker && made) sends.push_back({transfer.piece, transfer.to});
  }
  return sends;
}

Status check_dtypes(const std::vector<WorkerTask>& tasks) {
  std::map<ValueId, DType> known;
  const auto agrees = [&](ValueId value, DType dtype) {
    return known.try_emplace(value, dtype).first->second == dtype;
  };
  for (const WorkerTask& task : tasks) {
    const Graph& graph = task.executable->graph();
    bool all = true;
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      all = all && agrees(task.inputs[i].value, graph[graph.inputs()[i]].type.dtype);
    }
    for (size_t i = 0; i < task.outputs.size(); ++i) {
      all = all && agrees(task.outputs[i].value, graph[graph.outputs()[i]].type.dtype);
    }
    for (const TaskCode& code : task.codes) {
      for (const plan::Piece& member : code.members) all = all && agrees(member.value, code.dtype);
    }
    if (!all) return invalid("tasks do not agree on the type of a value");
  }
  return {};
}

Deployment::Deployment(std::vector<WorkerTask> tasks, std::chrono::milliseconds wait,
                       size_t most_bytes)
    : tasks_(std::move(tasks)), wait_(wait), most_bytes_(most_bytes) {}

std::optional<DType> Deployment::dtype_of(ValueId value) const {
  for (const WorkerTask& task : tasks_) {
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      if (task.inputs[i].value == value) return input_type(task, i).dtype;
    }
    for (const TaskCode& code : task.codes) {
      const auto it = std::ranges::find(code.members, value, &plan::Piece::value);
      if (it != code.members.end()) return code.dtype;
    }
  }
  return std::nullopt;
}

Deployment::Request& Deployment::request_at(uint64_t id) {
  const auto it = requests_.find(id);
  if (it != requests_.end()) return it->second;
  Request request;  // whole before others see it: memory may run out here
  const auto to_fill = [](const std::vector<plan::Piece>& pieces) {
    std::vector<Filling> fillings(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!plan::is_empty(pieces[i].region)) fillings[i].missing = {pieces[i].region};
    }
    return fillings;
  };
  for (const WorkerTask& task : tasks_) {
    Inputs& inputs = request.tasks.emplace_back();
    inputs.inputs = to_fill(task.inputs);
    for (const TaskCode& code : task.codes) inputs.codes.push_back(to_fill(code.members));
  }
  return requests_.emplace(id, std::move(request)).first->second;
}

Status Deployment::put(uint64_t request, const plan::Piece& piece, const Tensor& elements, Time now,
                       Time deadline) {
  const std::lock_guard lock(mutex_);
  if (is_over(request)) return {};
  const bool is_new = !requests_.contains(request);
  if (is_new) {
    if (requests_.size() >= kMostRequests) drop_expired(now);
    if (requests_.size() >= kMostRequests) {
      return Status(Code::kExhausted, "too many requests at once");
    }
  }
  bool used = false;
  Request& its = request_at(request);
  its.deadline = std::max(its.deadline, deadline);
  SHOAL_TRY(put_or_end(request, its, piece, elements, used));
  if (!used) {
    if (is_new) requests_.erase(request);  // nothing has begun
    return invalid("no task here reads that piece");
  }
  note_readiness(its, now);
  return {};
}

// Ends the request where memory is short: what was put in halfway must not be computed with.
Status Deployment::put_or_end(uint64_t id, Request& request, const plan::Piece& piece,
                              const Tensor& elements, bool& used) {
  const Status status = catch_exhaustion([&] {
    used = put_locked(request, piece, elements);
    return Status();
  });
  if (!status.ok()) end(id);
  return status;
}

bool Deployment::put_locked(Request& request, const plan::Piece& piece, const Tensor& elements) {
  bool used = false;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    const WorkerTask& task = tasks_[t];
    // The task has run without this copy. It is no error, for redundant senders are often late.
    if (t < request.next) {
      used = used || reads(task, piece);
      continue;
    }
    Inputs& inputs = request.tasks[t];
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      used |= fill(inputs.inputs[i], task.inputs[i], input_type(task, i), piece, elements);
    }
    for (size_t c = 0; c < task.codes.size(); ++c) {
      const TaskCode& code = task.codes[c];
      for (size_t m = 0; m < code.members.size(); ++m) {
        used |= fill(inputs.codes[c][m], code.members[m], code.type_of(m), piece, elements);
      }
    }
  }
  return used;
}

// Pastes the part of a piece that belongs to the wanted box. False if there is none. Throws
// std::bad_alloc if memory is short.
bool Deployment::fill(Filling& filling, const plan::Piece& wanted, const TensorType& type,
                      const plan::Piece& piece, const Tensor& elements) {
  if (!meet(wanted, piece)) return false;
  if (filling.is_full()) return true;  // a piece that comes twice must not change it
  const Region common = plan::intersection(wanted.region, piece.region);
  filling.missing = plan::subtract(std::move(filling.missing), common);
  // The usual case, without a copy: the tensor shares the memory of the frame.
  if (common == wanted.region && common == piece.region) {
    filling.tensor = elements;
    return true;
  }
  if (filling.missing.size() > kMostBoxes) throw std::bad_alloc();
  if (!filling.tensor.defined()) {
    filling.tensor = allocate(type);
    filling.allocated = type.bytes();
  }
  paste(crop(elements, plan::relative(common, piece.region)), plan::relative(common, wanted.region),
        filling.tensor);
  return true;
}

// A quota, so that pieces of many requests cannot make this machine run out of memory.
Tensor Deployment::allocate(const TensorType& type) {
  if (type.bytes() > most_bytes_ - used_bytes_) throw std::bad_alloc();
  Tensor tensor(type);
  used_bytes_ += type.bytes();
  return tensor;
}

void Deployment::let_go(const Inputs& inputs) {
  const auto let_go_of = [&](const std::vector<Filling>& fillings) {
    for (const Filling& filling : fillings) used_bytes_ -= filling.allocated;
  };
  let_go_of(inputs.inputs);
  for (const std::vector<Filling>& members : inputs.codes) let_go_of(members);
}

// A missing input can be decoded if enough members of its code are here.
Deployment::Readiness Deployment::readiness(const Request& request) const {
  if (request.running || request.next >= tasks_.size()) return Readiness::kNo;
  const WorkerTask& task = tasks_[request.next];
  const Inputs& here = request.tasks[request.next];
  if (count_full(here.inputs) == here.inputs.size()) return Readiness::kComplete;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    if (here.inputs[i].is_full()) continue;
    const auto code = std::ranges::find_if(
        task.codes, [&](const TaskCode& its) { return is_data_of(its, task.inputs[i].value); });
    if (code == task.codes.end()) return Readiness::kNo;
    const auto c = static_cast<size_t>(code - task.codes.begin());
    if (count_full(here.codes[c]) < code->data_count()) return Readiness::kNo;
  }
  return Readiness::kDecodable;
}

void Deployment::note_readiness(Request& request, Time now) const {
  if (!request.decodable && readiness(request) == Readiness::kDecodable) request.decodable = now;
}

std::optional<ReadyTask> Deployment::take(Time now) {
  ReadyTask ready;
  Inputs inputs;
  {
    const std::lock_guard lock(mutex_);
    drop_expired(now);
    // Ordered by number, so the oldest request goes first.
    const auto it = std::ranges::find_if(requests_, [&](const auto& entry) {
      const Request& request = entry.second;
      const Readiness its = readiness(request);
      return its == Readiness::kComplete ||
             (its == Readiness::kDecodable && now >= *request.decodable + wait_);
    });
    if (it == requests_.end()) return std::nullopt;
    Request& request = it->second;
    // A default Filling misses nothing: pieces that come from now on are dropped. Made before
    // anything changes, because memory may be short.
    const Inputs& here = request.tasks[request.next];
    inputs.inputs.resize(here.inputs.size());
    for (const auto& members : here.codes) inputs.codes.emplace_back(members.size());
    std::swap(inputs, request.tasks[request.next]);
    let_go(inputs);
    request.running = true;
    request.decodable.reset();
    ready = {it->first, request.next, {}, request.deadline};
  }
  ready.status = catch_exhaustion([&] {
    decode(ready, inputs);
    return Status();
  });
  if (!ready.status.ok()) cancel(ready.request);
  return ready;
}

std::optional<Deployment::Time> Deployment::next_time() const {
  const std::lock_guard lock(mutex_);
  std::optional<Time> next;
  for (const auto& [id, request] : requests_) {
    if (!request.decodable) continue;
    const Time due = *request.decodable + wait_;
    if (!next || due < *next) next = due;
  }
  return next;
}

// Decodes the missing inputs. No lock is needed: the task was taken and belongs to this thread.
// Decoding takes long enough that arriving pieces should not wait for it.
void Deployment::decode(ReadyTask& ready, const Inputs& from) const {
  const WorkerTask& task = tasks_[ready.task];
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    const Filling& filling = from.inputs[i];
    ready.inputs.push_back(filling.is_full() ? filling.tensor : Tensor());
    // An input without elements is full from the start, and no piece brings a tensor for it.
    if (filling.is_full() && !filling.tensor.defined()) {
      ready.inputs[i] = Tensor(input_type(task, i));
    }
  }
  for (size_t c = 0; c < task.codes.size(); ++c) {
    const TaskCode& code = task.codes[c];
    std::vector<Tensor> members;
    bool recovered = false;
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      const auto member =
          std::ranges::find(code.members, task.inputs[i].value, &plan::Piece::value);
      if (from.inputs[i].is_full() || member == code.members.end()) continue;
      if (!std::exchange(recovered, true)) {
        for (const Filling& filling : from.codes[c]) {
          members.push_back(filling.is_full() ? filling.tensor : Tensor());
        }
        recover_data(code, members);
      }
      const Tensor& whole = members[static_cast<size_t>(member - code.members.begin())];
      ready.inputs[i] = crop(whole, plan::relative(task.inputs[i].region, member->region));
    }
  }
}

Status Deployment::finish(const ReadyTask& task, std::span<const Tensor> outputs, Time now) {
  const std::lock_guard lock(mutex_);
  const auto it = requests_.find(task.request);
  if (it == requests_.end()) return {};  // it was cancelled
  Request& request = it->second;
  request.running = false;
  ++request.next;
  if (request.next == tasks_.size()) {
    end(task.request);
    return {};
  }
  // Outputs that later tasks of this worker read do not travel.
  for (size_t i = 0; i < outputs.size(); ++i) {
    bool used = false;
    SHOAL_TRY(put_or_end(task.request, request, tasks_[task.task].outputs[i], outputs[i], used));
  }
  note_readiness(request, now);
  return {};
}

void Deployment::cancel(uint64_t request) {
  const std::lock_guard lock(mutex_);
  end(request);
}

// Their answers are no longer needed. The coordinator reports that as well, but the message may be
// late, behind the pieces of other requests.
void Deployment::drop_expired(Time now) {
  std::vector<uint64_t> expired;
  for (const auto& [id, request] : requests_) {
    if (request.deadline < now) expired.push_back(id);
  }
  for (uint64_t request : expired) end(request);
}

bool Deployment::is_over(uint64_t request) const {
  return over_.contains(request) || (request < all_over_ && !requests_.contains(request));
}

// Remembers that the request is over, so that late pieces do not begin it again. Coordinators
// number attempts upwards, so below all_over_ every number that is not under way is over.
void Deployment::end(uint64_t request) {
  constexpr size_t kMostRemembered = 1024;
  const auto it = requests_.find(request);
  if (it != requests_.end()) {
    for (const Inputs& inputs : it->second.tasks) let_go(inputs);
    requests_.erase(it);
  }
  over_.insert(request);
  if (over_.size() <= kMostRemembered) return;
  all_over_ = *over_.begin() + 1;
  over_.erase(over_.begin());
}

}  // namespace shoal::cluster
