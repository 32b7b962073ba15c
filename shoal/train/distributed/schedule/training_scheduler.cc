// For every codec, number of local steps, and choice of keeping awake and broadcasting: the N
// fastest workers for N = 2, 3, ..., and all pairs, each with the shares that let the last finish
// first (the smallest T with sum_i max_batch_i(T) >= batch, [Mao 2017b]). From the best of these,
// single changes while they improve: units move from one worker to another, which may drop or add a
// worker; the shares of two are swapped. Moves matter if messages queue for one medium: workers
// that finish at different times do not wait for each other.
#include "shoal/train/distributed/schedule/training_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "shoal/base/status.h"

namespace shoal::learn {
namespace {

// One exchange in virtual time [Mao 2017b]:
//
//   worker i   H steps on its share, encode, send to the hub
//   hub        decodes each message as it arrives, encodes the sum, sends it to all
//   worker i   decodes; the step ends with the last
//
// Machines of one medium, a radio channel, send one at a time, and a message occupies it from the
// wake-up of the receiver's radio to the last byte. On wires, all messages pass the hub's port. If
// gradients are sent during the backward pass, a message may begin that much earlier, but ends with
// the last part after the pass. Divided by H, that is the time of a step.
//
// If the hub sends to one worker after the other and each begins when it has its message, the
// exchange begins with the way down: the first workers' messages return while the last ones
// compute. With N equal workers on one medium and messages of time D that is T / N + (N + 1) D, or
// 2 N D if that is more, instead of T / N + 2 N D.

constexpr double kParts = 8;  // of a message that is sent while it is computed
constexpr double kLongAgo = 1e9;

class Exchange {
 public:
  Exchange(const TrainingSite& site, const TrainingJob& job, const TrainingPlan& plan)
      : site_(site), job_(job), plan_(plan), bytes_(job.messages.at(plan.codec)) {}

  double seconds() {
    std::vector<size_t> order;
    for (size_t i = 0; i < plan_.shares.size(); ++i) {
      if (plan_.shares[i] > 0) order.push_back(i);
    }
    std::vector<double> computed(site_.workers.size());  // when
    if (site_.staggers) {
      const std::vector<double> long_ago(site_.workers.size(), -kLongAgo);
      computed = send_down(order, long_ago, 0);
      for (const size_t i : order) computed[i] += codec_seconds_of(i);
    }
    for (const size_t i : order) {
      computed[i] +=
          site_.workers[i].seconds_of(plan_.shares[i]) * static_cast<double>(plan_.local_steps) +
          codec_seconds_of(i);
    }
    std::ranges::stable_sort(order, {}, [&](size_t i) { return computed[i]; });
    double merged = 0;
    std::vector<double> sent(site_.workers.size());
    for (const size_t i : order) {
      sent[i] = send_up(i, computed[i]);
      merged = std::max(merged, sent[i]) + codec_seconds(site_.hub_codec_bytes_per_second);
    }
    merged += codec_seconds(site_.hub_codec_bytes_per_second);
    double end = merged;
    if (!site_.staggers) {
      end = std::ranges::max(send_down(order, sent, merged));
      double slowest = 0;
      for (const size_t i : order) slowest = std::max(slowest, codec_seconds_of(i));
      end += slowest;
    }
    return end / static_cast<double>(plan_.local_steps);
  }

 private:
  double codec_seconds(double bytes_per_second) const {
    return plan_.codec == CodecKind::kF32 ? 0 : job_.gradient_bytes / bytes_per_second;
  }
  double codec_seconds_of(size_t worker) const {
    return codec_seconds(site_.workers[worker].codec_bytes_per_second);
  }
  bool is_shared(const plan::LinkProfile& link) const {
    return link.medium != plan::kOwnWire && link.medium == site_.hub.medium;
  }
  // Of the radio at the worker's end, when nothing was heard for this time.
  double wake_up(const plan::LinkProfile& link, double silence) const {
    return plan_.keeps_awake || silence <= link.sleep_after_seconds ? 0 : link.wakeup_seconds;
  }

  // Begins at `ready` if the way is free; returns the time of the last byte.
  double send(const plan::LinkProfile& link, double ready, double wake, double rate_factor = 1) {
    const double rate = std::min(link.bytes_per_second, site_.hub.bytes_per_second) * rate_factor;
    const double latency = std::max(link.latency_seconds, site_.hub.latency_seconds) + wake;
    const double begin = std::max(free_, ready);
    if (is_shared(link)) return free_ = begin + latency + bytes_ / rate;
    free_ = begin + bytes_ / site_.hub.bytes_per_second;
    return std::max(free_, begin + bytes_ / rate) + latency;
  }

  double send_up(size_t i, double ready) {
    const plan::LinkProfile& link = site_.workers[i].link;
    const double compute = site_.workers[i].seconds_of(plan_.shares[i]);
    const double early = site_.overlaps ? job_.backward_share * compute : 0;
    const double wake = wake_up(link, ready);
    const double end = send(link, ready - early, wake);
    if (!site_.overlaps) return end;
    const double rate = std::min(link.bytes_per_second, site_.hub.bytes_per_second);
    return std::max(end, ready + link.latency_seconds + bytes_ / rate / kParts);
  }

  // When the merged step is at each of these workers.
  std::vector<double> send_down(const std::vector<size_t>& order, const std::vector<double>& sent,
                                double merged) {
    std::vector<double> arrivals(site_.workers.size());
    double last = 0;
    for (const size_t i : order) {
      const TrainingDevice& worker = site_.workers[i];
      const double wake = wake_up(worker.link, merged - sent[i]);
      const bool repeats = plan_.broadcasts && last > 0;
      arrivals[i] =
          repeats ? last
                  : send(worker.link, merged, wake, plan_.broadcasts ? site_.broadcast_rate : 1);
      last = std::max(last, arrivals[i]);
    }
    return arrivals;
  }

  const TrainingSite& site_;
  const TrainingJob& job_;
  const TrainingPlan& plan_;
  double bytes_;
  double free_ = 0;  // the medium, or the hub's port
};

constexpr size_t kStarts = 5;  // that are improved

struct Candidate {
  TrainingPlan plan;
  double seconds = 1e300;
};

class Search {
 public:
  Search(const TrainingSite& site, const TrainingJob& job) : site_(site), job_(job) {
    order_.resize(site.workers.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::stable_sort(order_, {},
                             [&](size_t i) { return site_.workers[i].seconds_of(job_.batch); });
  }

  // The fastest worker alone.
  Candidate alone() const { return timed(with_shares(std::span(order_).first(1))); }

  Candidate best() const {
    Candidate best = alone();
    for (const auto& [codec, bytes] : job_.messages) {
      for (int64_t local = 1; local <= job_.most_local_steps; local *= 2) {
        for (const bool awake : {false, true}) {
          for (const bool broadcast : {false, true}) {
            if ((awake && !job_.may_keep_awake) || (broadcast && site_.broadcast_rate <= 0))
              continue;
            TrainingPlan like{.shares = {},
                              .codec = codec,
                              .local_steps = local,
                              .keeps_awake = awake,
                              .broadcasts = broadcast};
            const Candidate candidate = best_shares(like);
            if (candidate.seconds < best.seconds) best = candidate;
          }
        }
      }
    }
    return best;
  }

 private:
  // Each unit goes to the worker that would be done with it first.
  TrainingPlan with_shares(std::span<const size_t> workers, TrainingPlan plan = {}) const {
    plan.shares.assign(site_.workers.size(), 0);
    for (int64_t left = job_.batch; left > 0; left -= job_.unit) {
      const auto end = [&](size_t i) {
        return site_.workers[i].seconds_of(plan.shares[i] + job_.unit);
      };
      plan.shares[*std::ranges::min_element(workers, {}, end)] += job_.unit;
    }
    return plan;
  }

  Candidate timed(TrainingPlan plan) const {
    const double seconds = predict_step(site_, job_, plan);
    return {std::move(plan), seconds};
  }

  Candidate best_shares(const TrainingPlan& like) const {
    std::vector<Candidate> starts;
    for (size_t count = 2; count <= order_.size(); ++count) {
      starts.push_back(timed(with_shares(std::span(order_).first(count), like)));
    }
    for (size_t a = 0; a < order_.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        starts.push_back(timed(with_shares(std::array{order_[a], order_[b]}, like)));
      }
    }
    std::ranges::sort(starts, {}, &Candidate::seconds);
    Candidate best;
    for (const Candidate& start : std::span(starts).first(std::min(kStarts, starts.size()))) {
      Candidate found = improved(start);
      if (found.seconds < best.seconds) best = std::move(found);
    }
    return best;
  }

  Candidate improved(Candidate at) const {
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (size_t from = 0; from < at.plan.shares.size(); ++from) {
        for (size_t to = 0; to < at.plan.shares.size(); ++to) {
          is_better |= from != to && (move(at, from, to) || swap(at, from, to));
        }
      }
    }
    return at;
  }

  // All of a worker's share, or half of it, a quarter, ... one unit.
  bool move(Candidate& at, size_t from, size_t to) const {
    bool is_better = false;
    for (int64_t units = at.plan.shares[from] / job_.unit; units > 0; units /= 2) {
      if (at.plan.shares[from] < units * job_.unit) continue;
      TrainingPlan other = at.plan;
      other.shares[from] -= units * job_.unit;
      other.shares[to] += units * job_.unit;
      Candidate found = timed(std::move(other));
      // Not for the last bits of it: the search must end.
      if (found.seconds >= at.seconds * (1 - 1e-9)) continue;
      at = std::move(found);
      is_better = true;
    }
    return is_better;
  }

  bool swap(Candidate& at, size_t a, size_t b) const {
    TrainingPlan other = at.plan;
    std::swap(other.shares[a], other.shares[b]);
    Candidate found = timed(std::move(other));
    if (found.seconds >= at.seconds * (1 - 1e-9)) return false;
    at = std::move(found);
    return true;
  }

  const TrainingSite& site_;
  const TrainingJob& job_;
  std::vector<size_t> order_;  // the fastest first
};

Status check(const TrainingSite& site, const TrainingJob& job) {
  if (site.workers.empty()) return invalid("there is no worker");
  if (job.messages.empty()) return invalid("there is no codec");
  if (job.batch <= 0 || job.unit <= 0 || job.batch % job.unit != 0) {
    return invalid("the batch does not consist of whole micro-batches");
  }
  for (const TrainingDevice& worker : site.workers) {
    int64_t last = 0;
    double before = 0;
    for (const auto& [samples, seconds] : worker.times) {
      if (samples <= last || !(seconds > 0) || seconds < before) {
        return invalid(worker.name + " has times that do not ascend");
      }
      last = samples;
      before = seconds;
    }
    if (last == 0) return invalid(worker.name + " was not measured");
  }
  return {};
}

size_t first_used(const TrainingPlan& plan) {
  const auto position = std::ranges::find_if(plan.shares, [](int64_t share) { return share > 0; });
  return static_cast<size_t>(position - plan.shares.begin());
}

int64_t count_used(const TrainingPlan& plan) {
  return std::ranges::count_if(plan.shares, [](int64_t share) { return share > 0; });
}

}  // namespace

// The smallest T with sum_i floor(T / s_i) >= total is found by giving each micro-batch to the
// worker that would finish it first, which is optimal. All but the last few are given at once, in
// proportion to speed.

std::vector<int64_t> shares_of(std::span<const double> seconds, int64_t total) {
  SHOAL_CHECK(!seconds.empty() && total >= 0);
  double speed = 0;
  for (double s : seconds) speed += 1 / s;
  std::vector<int64_t> shares;
  int64_t left = total;
  for (double s : seconds) {
    // Rounded down: no worker has more than in the best split, which takes at least total / speed.
    shares.push_back(static_cast<int64_t>(std::floor(static_cast<double>(total) / (s * speed))));
    left -= shares.back();
  }
  for (; left > 0; --left) {
    size_t best = 0;
    for (size_t i = 1; i < seconds.size(); ++i) {
      const auto end = [&](size_t k) { return static_cast<double>(shares[k] + 1) * seconds[k]; };
      if (end(i) < end(best)) best = i;
    }
    ++shares[best];
  }
  return shares;
}

double TrainingDevice::seconds_of(int64_t samples) const {
  SHOAL_CHECK(!times.empty());
  const auto x = static_cast<double>(samples);
  std::pair<double, double> from{0, 0};
  for (const auto& [count, seconds] : times) {
    const auto to = static_cast<double>(count);
    if (samples <= count) {
      return from.second + (seconds - from.second) * (x - from.first) / (to - from.first);
    }
    from = {to, seconds};
  }
  return from.second * x / from.first;
}

double predict_step(const TrainingSite& site, const TrainingJob& job, const TrainingPlan& plan) {
  SHOAL_CHECK(plan.shares.size() == site.workers.size());
  const auto used = std::ranges::count_if(plan.shares, [](int64_t share) { return share > 0; });
  SHOAL_CHECK(used > 0);
  if (used > 1) return Exchange(site, job, plan).seconds();
  const auto only = std::ranges::find_if(plan.shares, [](int64_t share) { return share > 0; });
  return site.workers[static_cast<size_t>(only - plan.shares.begin())].seconds_of(*only);
}

Result<Schedule> schedule(const TrainingSite& site, const TrainingJob& job) {
  SHOAL_TRY(check(site, job));
  const Search search(site, job);
  const Candidate alone = search.alone();
  const Candidate best = search.best();
  return Schedule{.plan = best.plan,
                  .step_seconds = best.seconds,
                  .alone_seconds = alone.seconds,
                  .alone = first_used(alone.plan),
                  .together = count_used(best.plan) > 1};
}

std::string describe(const Schedule& schedule, const TrainingSite& site) {
  if (!schedule.together) {
    return site.workers[schedule.alone].name + " alone is faster than several workers together";
  }
  char speedup[32];
  std::snprintf(speedup, sizeof(speedup), "%.2f", schedule.speedup());
  std::string text = std::to_string(count_used(schedule.plan)) + " of " +
                     std::to_string(site.workers.size()) + " workers, " +
                     std::string(name_of(schedule.plan.codec));
  if (schedule.plan.local_steps > 1) {
    text += ", " + std::to_string(schedule.plan.local_steps) + " local steps";
  }
  if (schedule.plan.keeps_awake) text += ", radios kept awake";
  if (schedule.plan.broadcasts) text += ", broadcast";
  return text + ", " + speedup + " x of " + site.workers[schedule.alone].name + " alone";
}

}  // namespace shoal::learn
