#include "shoal/train/distributed/hub/hub.h"

#include <utility>

#include "shoal/train/distributed/schedule/training_scheduler.h"

namespace shoal::learn {
namespace {

using Kind = HubAction::Kind;

constexpr size_t kRemembered = 5;  // speeds; their median is not moved by one slow step
constexpr int kSkipped = 16;       // steps without a share, after which one micro-batch is tried
constexpr size_t kMostLeft = 2;    // steps that ended without a worker; WorkerSession keeps as many

double seconds_between(Hub::Time begin, Hub::Time end) {
  return std::chrono::duration<double>(end - begin).count();
}

void remember(std::deque<double>& last, double one) {
  last.push_back(one);
  if (last.size() > kRemembered) last.pop_front();
}

// 0 without values; the lower one of two.
double median_of(const std::deque<double>& last) {
  if (last.empty()) return 0;
  std::vector<double> sorted(last.begin(), last.end());
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];
}

std::chrono::nanoseconds as_duration(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

}  // namespace

std::vector<HubAction> Hub::take_actions() { return std::exchange(actions_, {}); }

std::vector<int> Hub::workers() const {
  std::vector<int> numbers;
  for (const auto& [number, worker] : workers_) numbers.push_back(number);
  return numbers;
}

double Hub::seconds_of(int worker) const {
  const auto position = workers_.find(worker);
  return position == workers_.end() ? 0 : median_of(position->second.seconds);
}

void Hub::remember_speed(Worker& worker, double seconds, double done) {
  remember(worker.seconds, std::max(seconds, 1e-9) / done);  // not zero: a share would be infinite
}

// It is waited for since the first assignment that it has not answered.
void Hub::note_answer(Worker& worker) {
  worker.unanswered.reset();
  if (worker.work) worker.unanswered = worker.work->since;
  if (!worker.left.empty()) worker.unanswered = worker.left.begin()->second.since;
}

void Hub::join(int worker, Time now) {
  if (over_) {
    actions_.push_back({.kind = Kind::kGoodbye, .worker = worker});
    return;
  }
  lose(worker, now);  // one that comes back has nothing of what it had
  devices_[worker].state = DeviceRow::State::kJoining;
  send_state(worker, now);
}

void Hub::send_state(int worker, Time now) {
  workers_[worker].joining = now;
  workers_[worker].unanswered.reset();
  actions_.push_back({.kind = Kind::kSendState, .worker = worker, .step = step_});
}

void Hub::synced(int worker, Time now) {
  const auto position = workers_.find(worker);
  if (position == workers_.end()) return;
  position->second.joining.reset();
  DeviceRow& row = devices_[worker];
  if (row.state == DeviceRow::State::kJoining && row.changed) row.changed = step_;
  row.state = DeviceRow::State::kWorking;
  advance(now);
}

void Hub::applied(int worker, const Applied& report, Time now) {
  const auto position = workers_.find(worker);
  if (position == workers_.end()) return;
  Worker& sender = position->second;
  if (const auto left = sender.left.find(report.step); left != sender.left.end()) {
    // Half of one more, as it was somewhere in the next.
    const auto done = std::clamp<int64_t>(report.done, 0, left->second.range.size());
    remember_speed(sender, seconds_between(left->second.since, now),
                   static_cast<double>(done) + 0.5);
    devices_[worker].seconds = median_of(sender.seconds);
  }
  // What it pushed before came before.
  sender.left.erase(sender.left.begin(), sender.left.upper_bound(report.step));
  note_answer(sender);
  if (!report.equal) {
    release(worker);  // what it computes now comes from wrong weights
    send_state(worker, now);
  }
  advance(now);
}

Verdict Hub::verdict(int worker, int64_t step, int64_t first, int64_t end) const {
  const auto position = workers_.find(worker);
  if (position == workers_.end()) return Verdict::kRefuse;
  const auto is_of = [&](const Work& work) {
    return work.step == step && work.range.first == first && work.range.end == end;
  };
  const Worker& sender = position->second;
  if (sender.work && is_of(*sender.work)) return Verdict::kAccept;
  const auto left = sender.left.find(step);
  return left != sender.left.end() && is_of(left->second) ? Verdict::kLate : Verdict::kRefuse;
}

Verdict Hub::push(int worker, int64_t step, int64_t first, int64_t end, Time now, double seconds) {
  const Verdict verdict = this->verdict(worker, step, first, end);
  if (verdict == Verdict::kRefuse) return verdict;
  Worker& sender = workers_[worker];
  const Work work = verdict == Verdict::kLate ? sender.left.at(step) : *sender.work;
  const double taken = seconds_between(work.since, now);
  remember_speed(sender, seconds > 0 ? seconds : taken, static_cast<double>(end - first));
  const bool is_known = seconds > 0 && verdict == Verdict::kAccept;
  if (is_known) remember(sender.waits, std::max(taken - seconds, 0.0));
  if (verdict == Verdict::kLate) {
    sender.left.erase(step);
  } else {
    sender.work.reset();
  }
  note_answer(sender);
  note_push(worker, work, verdict, now);
  if (verdict == Verdict::kAccept) accepted_ += end - first;
  advance(now);
  return verdict;
}

// For people only.
void Hub::note_push(int worker, const Work& work, Verdict verdict, Time now) {
  std::optional<Time> first = work.first_push;
  if (verdict == Verdict::kAccept) {
    if (!first_push_) first_push_ = now;
    first = first_push_;
    accepted_from_[worker] += work.range.size();
  }
  DeviceRow& row = devices_[worker];
  row.lag_seconds = first ? seconds_between(*first, now) : 0;
  row.seconds = seconds_of(worker);
}

void Hub::release(int worker) {
  const std::optional<Work> work = std::exchange(workers_[worker].work, std::nullopt);
  if (work) missing_.push_back(work->range);
}

void Hub::lose(int worker, Time now) {
  if (!workers_.contains(worker)) return;
  release(worker);
  workers_.erase(worker);
  devices_[worker].state = DeviceRow::State::kLost;
  devices_[worker].changed = step_;
  advance(now);
}

std::vector<int> Hub::idle_workers() const {
  std::vector<int> idle;
  for (const auto& [number, worker] : workers_) {
    const bool is_idle = !worker.joining && !worker.work && worker.left.size() < kMostLeft;
    if (is_idle) idle.push_back(number);
  }
  return idle;
}

bool Hub::is_awaited() const {
  return std::ranges::any_of(workers_,
                             [&](const auto& entry) { return entry.second.work.has_value(); });
}

// Some of those that came before the first step do not have the state yet.
bool Hub::is_gathering() const {
  return !begun_ && std::ranges::any_of(workers_, [](const auto& entry) {
    return entry.second.joining.has_value();
  });
}

// Workers whose speed is not known count as the mean of the others; 0 where none is known.
std::vector<double> Hub::speeds_of(const std::vector<int>& workers) const {
  std::vector<double> seconds;
  double sum = 0, known = 0;
  for (int worker : workers) {
    seconds.push_back(seconds_of(worker));
    sum += seconds.back();
    known += seconds.back() > 0;
  }
  for (double& s : seconds) {
    if (s == 0 && known > 0) s = sum / known;
  }
  return seconds;
}

// One that the plan does not know counts as the slowest that it knows.
std::vector<double> Hub::planned_for(const std::vector<int>& workers) const {
  int64_t slowest = 1;
  for (const auto& [worker, time] : options_.planned) slowest = std::max(slowest, time);
  std::vector<double> planned;
  for (const int worker : workers) {
    const auto position = options_.planned.find(worker);
    planned.push_back(
        static_cast<double>(position != options_.planned.end() ? position->second : slowest));
  }
  return planned;
}

// A worker that is too slow for a share is measured again from time to time.
void Hub::try_slow_ones(const std::vector<int>& idle, std::vector<int64_t>& shares) {
  for (size_t i = 0; i < idle.size(); ++i) {
    Worker& worker = workers_[idle[i]];
    worker.skipped = shares[i] > 0 ? 0 : worker.skipped + 1;
    const auto most = std::ranges::max_element(shares);
    if (worker.skipped < kSkipped || *most < 2) continue;
    --*most;
    ++shares[i];
    worker.skipped = 0;
  }
}

std::vector<int64_t> Hub::shares_for(const std::vector<int>& workers, int64_t total) const {
  if (options_.fixed_shares) return shares_of(planned_for(workers), total);
  std::vector<double> seconds = speeds_of(workers);
  if (seconds[0] == 0) std::ranges::fill(seconds, 1.0);
  return shares_of(seconds, total);
}

// Those that share micro-batches. With slack also those that are behind, if most are not and these
// have most of it.
std::vector<int> Hub::sharers_of(const std::vector<int>& idle, int64_t total) const {
  if (options_.slack == 0) return idle;
  std::vector<int> all;
  for (const auto& [number, worker] : workers_) {
    if (!worker.joining) all.push_back(number);
  }
  const std::vector<int64_t> shares = shares_for(all, total);
  int64_t of_idle = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::binary_search(idle, all[i])) of_idle += shares[i];
  }
  return 4 * of_idle >= 3 * total ? all : idle;
}

// Each worker gets one range, so that a step needs no more messages than there are workers.
void Hub::assign(Range range, Time now) {
  const std::vector<int> idle = idle_workers();
  const std::vector<int> sharers = sharers_of(idle, range.size());
  const std::vector<double> seconds = speeds_of(sharers);
  const bool is_known = seconds[0] > 0;
  std::vector<int64_t> shares = shares_for(sharers, range.size());
  if (!options_.fixed_shares) try_slow_ones(sharers, shares);
  double slowest = 0;
  int64_t first = range.first;
  for (size_t i = 0; i < sharers.size(); ++i) {
    if (shares[i] == 0) continue;
    const Range part{first, first + shares[i]};
    first = part.end;
    if (!std::ranges::binary_search(idle, sharers[i])) {
      left_out_ += part.size();
      continue;
    }
    Worker& worker = workers_[sharers[i]];
    worker.work = Work{step_, part, now};
    if (!worker.unanswered) worker.unanswered = now;
    slowest =
        std::max(slowest, static_cast<double>(shares[i]) * seconds[i] + median_of(worker.waits));
    actions_.push_back({.kind = Kind::kAssign,
                        .worker = sharers[i],
                        .step = step_,
                        .first = part.first,
                        .end = part.end});
  }
  expected_ = is_known ? std::max(expected_, now + as_duration(slowest)) : began_;
}

void Hub::end_step(Time now) {
  actions_.push_back({.kind = Kind::kMerge, .step = step_});
  ++step_;
  accepted_ = left_out_ = 0;
  missing_.clear();
  running_ = false;
  for (auto& [number, row] : devices_) {
    const auto position = accepted_from_.find(number);
    row.share = position == accepted_from_.end() ? 0 : position->second;
    row.steps += row.share > 0 ? 1 : 0;
  }
  for (auto& [number, worker] : workers_) {
    auto work = std::exchange(worker.work, std::nullopt);
    if (!work) continue;
    DeviceRow& row = devices_[number];
    row.steps += row.share > 0 ? 0 : 1;
    ++row.late;
    work->first_push = first_push_;
    worker.left[work->step] = *work;
  }
  accepted_from_.clear();
  first_push_.reset();
  advance(now);
}

void Hub::end_run() {
  over_ = true;
  for (const auto& [number, worker] : workers_) {
    actions_.push_back({.kind = Kind::kGoodbye, .worker = number, .step = step_});
  }
}

std::optional<Hub::Time> Hub::straggler_deadline() const {
  const bool is_possible = running_ && options_.slack > 0 && expected_ > began_ &&
                           2 * accepted_ > int64_t{1} << options_.levels;
  if (!is_possible) return std::nullopt;
  const std::chrono::duration<double> whole = expected_ - began_;
  return std::max(began_ + as_duration(options_.slack * whole.count()),
                  began_ + options_.least_wait);
}

void Hub::advance(Time now) {
  if (over_) return;
  if (step_ >= options_.steps) return end_run();
  const bool has_workers = !workers_.empty();
  if (has_workers) alone_since_.reset();
  if (!has_workers && !alone_since_) alone_since_ = now;
  if (running_ && accepted_ + left_out_ == int64_t{1} << options_.levels) return end_step(now);
  const std::optional<Time> deadline = straggler_deadline();
  if (deadline && now >= *deadline) return end_step(now);
  if (is_gathering() || idle_workers().empty()) return;
  if (!running_) {
    running_ = begun_ = true;
    began_ = expected_ = now;
    assign({0, int64_t{1} << options_.levels}, now);
  } else if (!missing_.empty()) {
    assign_missing(now);
  }
}

// Idle workers begin at once, each with its share of the whole; the others get the rest later. With
// slack all wait, because it counts stragglers.
void Hub::assign_missing(Time now) {
  if (options_.slack > 0 && is_awaited()) return;
  const int64_t idle = std::ssize(idle_workers());
  const int64_t all = std::ranges::count_if(
      workers_, [](const auto& entry) { return !entry.second.joining.has_value(); });
  Range& last = missing_.back();
  const Range part{last.first, last.first + (last.size() * idle + all - 1) / all};
  last.first = part.end;
  if (last.size() == 0) missing_.pop_back();
  assign(part, now);
}

std::optional<Hub::Time> Hub::waiting_since(const Worker& worker) {
  return worker.joining ? worker.joining : worker.unanswered;
}

void Hub::tick(Time now) {
  if (over_) return;
  for (const int number : workers()) {
    const std::optional<Time> since = waiting_since(workers_[number]);
    if (!since || now < *since + options_.drop_after) continue;
    actions_.push_back({.kind = Kind::kDrop, .worker = number, .step = step_});
    lose(number, now);
  }
  advance(now);
  if (over_ || !alone_since_ || now < *alone_since_ + options_.timeout) return;
  over_ = true;
  actions_.push_back({.kind = Kind::kGiveUp, .step = step_});
}

std::optional<Hub::Time> Hub::next_tick() const {
  if (over_) return std::nullopt;
  std::optional<Time> next = straggler_deadline();
  const auto consider = [&](Time time) { next = next ? std::min(*next, time) : time; };
  if (alone_since_) consider(*alone_since_ + options_.timeout);
  for (const auto& [number, worker] : workers_) {
    if (const auto since = waiting_since(worker)) consider(*since + options_.drop_after);
  }
  return next;
}

}  // namespace shoal::learn
