// For every codec, number of local steps, and yes or no to keeping awake and to broadcasting: the
// N fastest workers for N = 2, 3, ..., and all pairs, each with the shares that let the last be
// done first (the smallest T with sum_i max_batch_i(T) >= batch, [Mao 2017b]). From the best of
// these, single changes as long as one is better: a unit or several moved from one worker to
// another, which may leave a worker without any, or let one in; the shares of two swapped. Moves
// matter where messages queue for one medium: workers that are done at different times do not wait
// for each other.
#include "shoal/train/distributed/schedule/training_scheduler.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <span>

namespace shoal::learn {
namespace {

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
            const Candidate found = best_shares(like);
            if (found.seconds < best.seconds) best = found;
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
  const auto found = std::ranges::find_if(plan.shares, [](int64_t share) { return share > 0; });
  return static_cast<size_t>(found - plan.shares.begin());
}

int64_t count_used(const TrainingPlan& plan) {
  return std::ranges::count_if(plan.shares, [](int64_t share) { return share > 0; });
}

}  // namespace

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
