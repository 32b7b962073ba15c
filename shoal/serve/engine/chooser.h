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
#include "shoal/schedule/specialiser.h"
#include "shoal/serve/engine/special_answer.h"
#include "shoal/serve/protocol/wish.h"
#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

// A network for a few classes among the variants of a task.
struct SpecialVariant {
  schedule::OptionId id;
  SpecialNetwork network;
  std::string general;         // the variant that answers where it does not
  size_t classes = 0;          // of the task
  bool probabilities = false;  // are what the general one gives
};

struct ChooserOptions {
  schedule::Catalog catalog;  // empty: there are no tasks
  schedule::Budgets budgets;
  schedule::Paging paging;
  std::vector<SpecialVariant> specials = {};  // used while their classes are what is seen
  schedule::SpecialiserOptions special = {};
  std::function<void(const std::string&)> log;  // a line for each decision; empty: none
};

// The model that is a variant of a task.
std::string variant_model(const std::string& task, const std::string& variant);

// Which other machines can be reached.
struct Reachable {
  bool cloud = false, worker = false;
};

struct Choice {
  std::string variant;  // empty: nothing is left for the request
  schedule::Place place = schedule::Place::kHere;
  const SpecialVariant* special = nullptr;  // it is one; the chooser's
  uint64_t number = 0;                      // of the decision
  std::string why;                          // its line
  std::vector<std::string> evicted;         // models to unload first
  std::optional<std::string> preloaded;     // a model to load for later requests
  std::optional<Duration> retry_after;      // of a request that is refused, until the next day
  schedule::Decision decision = {};
};

// Thread-safe.
class Chooser {
 public:
  // The day begins. REQUIRES: check() of catalog and budgets is OK.
  Chooser(ChooserOptions options, Time now);

  std::optional<size_t> find_task(const std::string& name) const;
  const schedule::Catalog& catalog() const { return scheduler_.catalog(); }

  // Times ascend, about: one before the last counts as the last.
  Choice choose(size_t task, const Wish& wish, Time now, const Reachable& reachable = {});
  // An answer has come: whether the general network had to give it.
  void settle(const Choice& choice, bool fell);
  // None has, since a machine could not be reached. Another choice follows.
  void give_back(const Choice& choice);
  // How long an answer took elsewhere; the next ones are expected to take about as long.
  void note_time(const Choice& choice, double ms);
  // A class that was answered. Models to unload, if special networks are given up for it.
  std::vector<std::string> note_class(size_t task, size_t answer, Time now);
  // Whether a task has special networks, for which its answers count.
  bool watches(size_t task) const { return specialisers_[task].has_value(); }
  bool plan_due() const;
  void plan(Time now);

  // Budgets, what is left, variants with what they cost and how often they answered, and the last
  // decisions, as JSON.
  std::string print() const;

 private:
  double seconds_at(Time now);
  void log(std::string line);
  std::vector<std::string> follow(size_t task, const schedule::SpecialAdvice& advice);
  // What has to be unloaded with an option: the general network of a special one, too, which is
  // loaded as a part of it, unless it is in memory for its own sake.
  std::vector<std::string> models_of(schedule::OptionId id) const;
  // The special network of a task that is in use; null: none.
  const SpecialVariant* special_in_use(size_t task) const;

  mutable std::mutex mutex_;
  const ChooserOptions options_;
  schedule::Scheduler scheduler_;
  Time day_;           // began
  double last_ = 0;    // seconds
  uint64_t days_ = 0;  // before this one
  uint64_t decisions_ = 0;
  std::vector<std::vector<uint64_t>> answers_;                      // by task and option
  std::deque<std::string> lines_;                                   // the last decisions
  std::vector<std::optional<schedule::Specialiser>> specialisers_;  // of tasks with such networks
};

}  // namespace shoal::serve
