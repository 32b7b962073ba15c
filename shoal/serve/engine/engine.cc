// Locks: loading_ before mutex_. mutex_ is not held while a model is loaded or runs, nor while
// requests are told how they ended.
#include "shoal/serve/engine/engine.h"

#include <algorithm>
#include <new>
#include <utility>

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kAlike = 1, kExits = 2;  // kinds of requests that may share a batch

uint64_t nanoseconds(Duration duration) {
  return static_cast<uint64_t>(
      std::max<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count(), 0));
}

uint64_t now_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

// Answers requests that wish for exits.
Result<std::vector<Outcome>> run_exits(ServedModel& model, std::span<const Job* const> jobs) {
  std::vector<const Tensor*> images;
  std::vector<Wish> wishes;
  for (const Job* job : jobs) {
    if (job->inputs.size() != 1) return invalid("a model with exits has one input");
    images.push_back(&job->inputs[0]);
    wishes.push_back(job->wish);
  }
  SHOAL_ASSIGN(std::vector<ExitAnswers> answers, model.run_exits(images, wishes));
  std::vector<Outcome> outcomes(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    outcomes[i].outputs = {std::move(answers[i].scores)};
    outcomes[i].exits = std::move(answers[i].exits);
  }
  return outcomes;
}

// Answers all requests of a batch, in their order.
Result<std::vector<Outcome>> run_all(ServedModel& model, std::span<const Job* const> jobs,
                                     const RequestOptions& options) try {
  if (model.heeds(jobs[0]->wish)) return run_exits(model, jobs);
  std::vector<Outcome> outcomes(jobs.size());
  if (jobs.size() == 1) {
    SHOAL_ASSIGN(outcomes[0].outputs, model.run(jobs[0]->inputs, options));
    return outcomes;
  }
  std::vector<const Inputs*> inputs;
  for (const Job* job : jobs) inputs.push_back(&job->inputs);
  SHOAL_ASSIGN(std::vector<std::vector<Tensor>> answers, model.run_batch(inputs, options));
  for (size_t i = 0; i < jobs.size(); ++i) outcomes[i].outputs = std::move(answers[i]);
  return outcomes;
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

// Without memory, `done` is not called: the last owner of the connection closes it.
void tell(const std::function<void(Outcome)>& done, Outcome outcome) try {
  done(std::move(outcome));
} catch (const std::bad_alloc&) {
}

}  // namespace

Engine::Engine(Device& device, const EngineOptions& options, std::function<void(Time)> wake)
    : device_(device), options_(options), wake_(std::move(wake)), scheduler_(options.slots) {}

void Engine::add(ModelSource source) {
  const std::string name = source.name;
  Entry entry;
  entry.source = std::move(source);
  const Lock lock(mutex_);
  const bool added = models_.emplace(name, std::move(entry)).second;
  SHOAL_CHECK(added);
}

void Engine::replace(ModelSource source) {
  const Lock lock(mutex_);
  Entry* entry = find_entry(source.name);
  SHOAL_CHECK(entry != nullptr);
  entry->source = std::move(source);
}

ModelSource Engine::source_of(const std::string& name) const {
  const Lock lock(mutex_);
  return models_.at(name).source;
}

Engine::Entry* Engine::find_entry(const std::string& name) {
  const auto it = models_.find(name);
  return it == models_.end() ? nullptr : &it->second;
}

Status Engine::load(const std::string& name) {
  const std::scoped_lock one_at_a_time(loading_);
  ModelSource source;
  {
    const Lock lock(mutex_);
    Entry* entry = find_entry(name);
    if (entry == nullptr) return Status(Code::kNotFound, "there is no model " + name);
    if (entry->model == nullptr) entry->state = "LOADING";
    source = entry->source;
  }
  Result<std::shared_ptr<ServedModel>> loaded = ServedModel::load(source, device_);
  const Lock lock(mutex_);
  Entry& entry = *find_entry(name);
  if (!loaded.ok()) {
    entry.state = entry.model == nullptr ? "UNAVAILABLE" : "READY";
    entry.reason = loaded.status().message();
    return loaded.status().at(name);
  }
  if (entry.model != nullptr) {
    scheduler_.drain(entry.number);
    draining_.push_back(entry.number);
  }
  entry.model = *std::move(loaded);
  entry.number = ++last_queue_;
  entry.state = "READY";
  entry.reason.clear();
  scheduler_.add(entry.number, {.max_waiting = options_.max_waiting,
                                .max_items = entry.model->max_batch(),
                                .max_delay = options_.max_delay,
                                .max_wait = options_.max_wait,
                                .slots = options_.slots});
  for (const auto& [items, took] : entry.model->batch_times()) {
    scheduler_.learn(entry.number, items, took);
  }
  forget_idle();
  return {};
}

Status Engine::unload(const std::string& name) {
  const Lock lock(mutex_);
  Entry* entry = find_entry(name);
  if (entry == nullptr) return Status(Code::kNotFound, "there is no model " + name);
  if (entry->model == nullptr) return {};
  scheduler_.drain(entry->number);
  draining_.push_back(entry->number);
  entry->model = nullptr;
  entry->state = "UNAVAILABLE";
  entry->reason = "unloaded";
  forget_idle();
  return {};
}

void Engine::forget_idle() {
  std::erase_if(draining_, [&](uint64_t queue) {
    if (!scheduler_.is_idle(queue)) return false;
    scheduler_.remove(queue);
    return true;
  });
}

std::shared_ptr<ServedModel> Engine::find(const std::string& name) const {
  const Lock lock(mutex_);
  const auto it = models_.find(name);
  return it == models_.end() ? nullptr : it->second.model;
}

bool Engine::is_known(const std::string& name) const {
  const Lock lock(mutex_);
  return models_.contains(name);
}

std::vector<IndexEntry> Engine::index(bool ready_only) const {
  const Lock lock(mutex_);
  std::vector<IndexEntry> index;
  for (const auto& [name, entry] : models_) {
    if (ready_only && entry.state != "READY") continue;
    index.push_back({name, "1", entry.state, entry.reason});
  }
  return index;
}

std::vector<NamedStatistics> Engine::statistics(const std::string& wanted) const {
  const Lock lock(mutex_);
  std::vector<NamedStatistics> all;
  for (const auto& [name, entry] : models_) {
    if (!wanted.empty() && name != wanted) continue;
    all.push_back({name, "1", entry.statistics, scheduler_.waiting(entry.number)});
  }
  return all;
}

Engine::Waiting Engine::take(uint64_t id) {
  const auto node = waiting_.extract(id);
  SHOAL_CHECK(!node.empty());
  return std::move(node.mapped());
}

void Engine::refuse(Waiting waiting, Status status, uint64_t ModelStatistics::*reason,
                    std::vector<Finished>& finished) {
  ModelStatistics& statistics = waiting.entry->statistics;
  ++(statistics.*reason);
  statistics.fail.add(nanoseconds(Clock::now() - waiting.job.arrived));
  finished.push_back({std::move(waiting.job.done), {std::move(status), std::nullopt, {}, {}}});
}

std::optional<Outcome> Engine::refusal(const std::string& name, uint64_t client,
                                       uint32_t priority) {
  const Time now = Clock::now();
  const Lock lock(mutex_);
  Entry* entry = find_entry(name);
  if (entry == nullptr || entry->model == nullptr) return std::nullopt;
  Admission admission = scheduler_.check(
      entry->number,
      {.client = client, .priority = priority, .arrived = now, .deadline = now + options_.max_time},
      now);
  if (admission.status.code() != Code::kExhausted) return std::nullopt;
  ++entry->statistics.refused;
  entry->statistics.fail.add(0);
  return Outcome{std::move(admission.status), admission.retry_after, {}, {}};
}

bool Engine::is_quick(const std::string& name) const {
  const Lock lock(mutex_);
  const auto it = models_.find(name);
  if (it == models_.end() || it->second.model == nullptr) return false;
  const auto expected = scheduler_.expected(it->second.number);
  return expected && *expected <= kQuick;
}

bool Engine::submit(const std::shared_ptr<ServedModel>& model, Job& job) {
  const int64_t items = model->batch_items(job.inputs);
  const Time deadline = job.arrived + job.timeout.value_or(options_.max_time);
  const bool is_passing = job.is_passing;
  std::vector<Finished> finished;
  Lock lock(mutex_);
  Entry& entry = *find_entry(model->source().name);
  if (entry.model != model) return false;
  const QueuedRequest request{.id = ++last_request_,
                              .client = job.client,
                              .kind = items == 0               ? 0
                                      : model->heeds(job.wish) ? kExits
                                                               : kAlike,
                              .items = std::max<int64_t>(items, 1),
                              .priority = job.priority,
                              .arrived = job.arrived,
                              .deadline = deadline};
  Waiting waiting{model, &entry, entry.number, std::move(job), deadline};
  const Admission admission = scheduler_.admit(entry.number, request, Clock::now());
  if (admission.gives_way) {
    refuse(take(*admission.gives_way),
           Status(Code::kExhausted, "the queue is full, and another client's turn comes first"),
           &ModelStatistics::refused, finished);
    finished.back().outcome.retry_after = admission.retry_after;
  }
  if (admission.status.ok()) {
    waiting_.emplace(request.id, std::move(waiting));
  } else {
    const bool later = admission.status.code() == Code::kExhausted;
    refuse(std::move(waiting), admission.status, &ModelStatistics::refused, finished);
    if (later) finished.back().outcome.retry_after = admission.retry_after;
  }
  pump(lock, finished, is_passing);
  return true;
}

void Engine::cancel_stopped() {
  std::vector<Finished> finished;
  Lock lock(mutex_);
  std::vector<uint64_t> stopped;
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.job.cancel.stop_requested()) stopped.push_back(id);
  }
  for (uint64_t id : stopped) {
    if (!scheduler_.cancel(waiting_.at(id).queue, id)) continue;
    refuse(take(id), Status(Code::kCancelled, "cancelled"), &ModelStatistics::cancelled, finished);
  }
  pump(lock, finished);
}

void Engine::pump() {
  std::vector<Finished> finished;
  Lock lock(mutex_);
  told_ = kNever;
  pump(lock, finished);
}

// Where a thread leaves others waiting, it has another one woken for them.
void Engine::pump(Lock& lock, std::vector<Finished>& finished, bool one_batch) {
  for (;;) {
    const SchedulerDecision decision = scheduler_.next(Clock::now());
    for (uint64_t id : decision.late) {
      refuse(take(id), Status(Code::kDeadline, "the request waited too long"),
             &ModelStatistics::late, finished);
    }
    if (!finished.empty()) {
      lock.unlock();
      for (Finished& one : finished) tell(one.done, std::move(one.outcome));
      finished.clear();
      lock.lock();
    }
    if (decision.batch.empty()) break;
    run_batch(lock, decision);
    if (one_batch) break;
  }
  if (!draining_.empty()) forget_idle();
  const Time wake = scheduler_.wake();
  if (wake < told_) wake_(told_ = wake);
}

void Engine::run_batch(Lock& lock, const SchedulerDecision& decision) {
  std::vector<Waiting> batch;
  for (uint64_t id : decision.batch) batch.push_back(take(id));
  lock.unlock();
  const Time begin = Clock::now();
  RequestOptions options;
  options.deadline = batch[0].deadline;
  // A batch goes on for the others if one of them is cancelled.
  if (batch.size() == 1) options.cancel = batch[0].job.cancel;
  std::vector<const Job*> jobs;
  for (const Waiting& one : batch) {
    jobs.push_back(&one.job);
    options.deadline = std::max(options.deadline, one.deadline);
  }
  auto answers = run_all(*batch[0].model, jobs, options);
  const Time end = Clock::now();
  // Before the answer is delivered, so that statistics read afterwards include it.
  lock.lock();
  count(batch, answers.status(), decision.items, begin, end);
  lock.unlock();
  for (size_t i = 0; i < batch.size(); ++i) {
    tell(batch[i].job.done,
         answers.ok() ? std::move((*answers)[i]) : Outcome{answers.status(), std::nullopt, {}, {}});
  }
  lock.lock();
  scheduler_.ended(decision.model, decision.items,
                   answers.ok() ? std::optional<Duration>(end - begin) : std::nullopt);
}

void Engine::count(const std::vector<Waiting>& batch, const Status& status, int64_t items,
                   Time begin, Time end) {
  ModelStatistics& statistics = batch[0].entry->statistics;
  for (const Waiting& one : batch) {
    if (!status.ok()) {
      ++(status.code() == Code::kCancelled  ? statistics.cancelled
         : status.code() == Code::kDeadline ? statistics.late
                                            : statistics.failed);
      statistics.fail.add(nanoseconds(end - one.job.arrived));
      continue;
    }
    statistics.success.add(nanoseconds(end - one.job.arrived));
    statistics.latency.add(nanoseconds(end - one.job.arrived));
    statistics.queue.add(nanoseconds(begin - one.job.arrived));
    statistics.compute.input.add(0);
    statistics.compute.infer.add(nanoseconds(end - begin));
    statistics.compute.output.add(0);  // outputs are sent as they are
  }
  if (!status.ok()) return;
  statistics.last_inference_ms = now_ms();
  statistics.inferences += static_cast<uint64_t>(items);
  ++statistics.executions;
  BatchTotals& totals = statistics.batches[items];
  totals.input.add(0);
  totals.infer.add(nanoseconds(end - begin));
  totals.output.add(0);
}

}  // namespace shoal::serve
