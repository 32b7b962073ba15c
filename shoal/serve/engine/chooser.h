// Chooser: chooses the variant of a task that answers a request, by the scheduler of a day's
// budgets (variants/scheduler/scheduler.h) in real time. Every decision has a number and an
// explaining line.
//
// A task is a model to clients; its variants are models, too, called TASK.VARIANT. The caller loads
// and unloads them: the chooser only decides.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shoal/engine/session/model.h"
#include "shoal/serve/engine/shared_layers.h"
#include "shoal/serve/engine/special_answer.h"
#include "shoal/serve/protocol/wish.h"
#include "shoal/serve/queue/model_queue.h"
#include "shoal/variants/scheduler/scheduler.h"
#include "shoal/variants/scheduler/specialiser.h"

namespace shoal::serve {

// A network for a few classes among the variants of a task.
struct SpecialVariant {
  schedule::OptionId id;
  SpecialNetwork network;
  std::string general;         // the variant that answers where it does not
  size_t classes = 0;          // of the task
  bool probabilities = false;  // are what the general one gives
};

// A task for which such networks can be made while the server runs. Each replaces the previous one.
struct MakesSpecials {
  size_t task = 0;
  std::string general;         // as above
  size_t classes = 0;          // of the task
  bool probabilities = false;  // are what the general one gives
};

// The variant that was made while running; no catalog has one of this name.
inline constexpr const char* kMadeVariant = "special.now";

// A network that was made: its cost, with the general one to fall back to.
struct MadeSpecial {
  schedule::Option option;
  SpecialNetwork network;
  std::function<Result<Model>()> open;
};

struct ChooserOptions {
  schedule::Catalog catalog;  // empty: there are no tasks
  schedule::Budgets budgets;
  schedule::Paging paging;
  std::vector<std::shared_ptr<const SharedLayers>> shared = {};  // of the catalog's fragments
  std::vector<SpecialVariant> specials = {};  // used while their classes are seen
  std::vector<MakesSpecials> makes = {};      // for classes that none of these is for
  schedule::SpecialiserOptions special = {};
  std::function<void(const std::string&)> log;  // a line for each decision; empty: none
};

// The model of a variant; and the model that an option uses here, which is a part of it if the
// network is split.
std::string variant_model(const std::string& task, const std::string& variant);
std::string model_here(const std::string& task, const schedule::Option& option);

// The other machines that can be reached.
struct Reachable {
  bool cloud = false, worker = false;
};

struct Choice {
  std::string variant;  // empty: nothing is left for the request
  schedule::Place place = schedule::Place::kHere;
  size_t cut = 0;  // of a split network: how many nodes run here
  std::shared_ptr<const SpecialVariant> special = nullptr;  // it is one
  uint64_t number = 0;                                      // of the decision
  std::string why;                                          // its line
  std::vector<std::string> evicted;                         // models to unload first
  std::optional<std::string> preloaded;                     // a model to load for later requests
  std::optional<Duration> retry_after;  // of a request that is refused, until the next day
  schedule::Decision decision = {};
};

// The consequences of an answer.
struct ClassAdvice {
  std::vector<std::string> unloaded = {};  // models to unload: special networks that are given up
  std::vector<size_t> make = {};  // classes to make a network for; then made() or not_made() is due
};

// Thread-safe.
class Chooser {
 public:
  // The day begins. REQUIRES: check() of catalog and budgets is OK.
  Chooser(ChooserOptions options, Time now);

  std::optional<size_t> find_task(const std::string& name) const;
  const schedule::Catalog& catalog() const { return scheduler_.catalog(); }

  // Times ascend; an earlier one counts as the last. Requests with equal `input` are about the same
  // input; nullopt: unlike any other.
  Choice choose(size_t task, const Wish& wish, Time now, const Reachable& reachable = {},
                std::optional<uint64_t> input = {});
  // Whether a task shares first layers with others, so that inputs have to be told apart.
  bool shares(size_t task) const { return shares_[task]; }
  // An answer has come. `fell`: the general network had to give it.
  void settle(const Choice& choice, bool fell);
  // No answer came, since a machine could not be reached. Another choice follows.
  void give_back(const Choice& choice);
  // How long an answer took elsewhere; the next ones are expected to take about as long.
  void note_time(const Choice& choice, double ms);
  // A class that was answered.
  ClassAdvice note_class(size_t task, size_t answer, Time now);
  // The network that note_class() asked for is loaded, or could not be made. False: it does not
  // pay, and is to be unloaded.
  bool made(size_t task, const MadeSpecial& special, Time now);
  void not_made(size_t task, const Status& why, Time now);
  // Whether a task has special networks, for which its answers are counted.
  bool watches(size_t task) const { return specialisers_[task].has_value(); }
  bool plan_due() const;
  void plan(Time now);

  // Budgets, the rest of them, variants with their costs and number of answers, and the last
  // decisions, as JSON.
  std::string print() const;

 private:
  double seconds_at(Time now);
  // Since the first day began: class counts continue from one day to the next.
  double seconds_ever() const {
    return static_cast<double>(days_) * options_.budgets.seconds + last_;
  }
  void log(std::string line);
  ClassAdvice follow(size_t task, const schedule::SpecialAdvice& advice);
  void use(const std::shared_ptr<const SpecialVariant>& special);
  const MakesSpecials* maker_of(size_t task) const;  // null: none
  schedule::OptionId made_id(size_t task) const;     // of its place among options
  // The models to unload with an option: also the general network of a special one, which is loaded
  // as a part of it, unless it is in memory by itself.
  std::vector<std::string> models_of(schedule::OptionId id) const;
  // The special network of a task that is in use; null: none.
  std::shared_ptr<const SpecialVariant> special_in_use(size_t task) const;
  std::shared_ptr<const SpecialVariant> find_special(schedule::OptionId id) const;

  mutable std::mutex mutex_;
  const ChooserOptions options_;
  schedule::Scheduler scheduler_;
  Time day_;           // began
  double last_ = 0;    // seconds
  uint64_t days_ = 0;  // before this one
  uint64_t decisions_ = 0;
  std::vector<std::shared_ptr<const SpecialVariant>> specials_;
  std::vector<bool> shares_;                                        // tasks
  std::vector<std::vector<uint64_t>> answers_;                      // by task and option
  std::deque<std::string> lines_;                                   // the last decisions
  std::vector<std::optional<schedule::Specialiser>> specialisers_;  // of tasks with such networks
};

}  // namespace shoal::serve
