// Chooser: which variant of a task answers a request, by the scheduler of a day's budgets
// (schedule/scheduler.h) in real time. Every decision has a number and a line that explains it.
//
// A task is a model to clients; its variants are models, too, called TASK.VARIANT. What it takes to
// load and unload them is the caller's business: the chooser only says what to do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/schedule/scheduler.h"
#include "shoal/serve/protocol/wish.h"
#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

struct ChooserOptions {
  schedule::Catalog catalog;  // empty: there are no tasks
  schedule::Budgets budgets;
  schedule::Paging paging;
  std::function<void(const std::string&)> log;  // a line for each decision; empty: none
};

// The model that is a variant of a task.
std::string variant_model(const std::string& task, const std::string& variant);

struct Choice {
  std::string variant;                   // empty: nothing is left for the request
  uint64_t number = 0;                   // of the decision
  std::string why;                       // its line
  std::vector<std::string> evicted;      // models to unload first
  std::optional<std::string> preloaded;  // a model to load for later requests
  std::optional<Duration> retry_after;   // of a request that is refused, until the next day
};

// Thread-safe.
class Chooser {
 public:
  // The day begins. REQUIRES: check() of catalog and budgets is OK.
  Chooser(ChooserOptions options, Time now);

  std::optional<size_t> find_task(const std::string& name) const;
  const schedule::Catalog& catalog() const { return scheduler_.catalog(); }

  // Times ascend, about: one before the last counts as the last.
  Choice choose(size_t task, const Wish& wish, Time now);
  bool plan_due() const;
  void plan(Time now);

  // Budgets, what is left, variants with what they cost and how often they answered, and the last
  // decisions, as JSON.
  std::string print() const;

 private:
  double seconds_at(Time now);

  mutable std::mutex mutex_;
  const ChooserOptions options_;
  schedule::Scheduler scheduler_;
  Time day_;           // began
  double last_ = 0;    // seconds
  uint64_t days_ = 0;  // before this one
  uint64_t decisions_ = 0;
  std::vector<std::vector<uint64_t>> answers_;  // by task and option
  std::deque<std::string> lines_;               // the last decisions
};

}  // namespace shoal::serve
