// Scheduler: chooses the variant that answers a request, and its place, to maximise accuracy within
// the day's budgets of energy and money, the memory and the latency (approximate model scheduling
// [Han 2016]). No I/O: requests and time in, decisions out; deterministic.
//
//   Scheduler scheduler(catalog, budgets, paging);
//   const Decision& decision = scheduler.decide({.at = now, .task = 0, .cloud_up = true});
//   ... run decision.option, which may first have to be loaded, and others evicted ...
//   scheduler.settle(decision, fell);
//   if (scheduler.plan_due()) scheduler.plan(now);    // in the background
//
// A plan solves the relaxed scheduling problem (packing.h) for the expected requests and the rest
// of the budgets, which prices a joule and a dollar, lambda_E and lambda_C, and chooses the
// variants to keep in memory (memory.h). A decision takes the option with the highest
//
//   score = weight * accuracy - lambda_E * (joules + page-in joules / expected uses)
//                             - lambda_C * dollars
//
// among those that memory, link, latency and budgets allow. An option that displaces others pays
// for reading it and them; if energy has no price, it gets its part of what will be left over.
// Nearly equal scores go to the option with less energy, because savings keep. A task's last option
// stays while it is nearly the best (hysteresis). Each plan begins with what is left of the
// budgets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shoal/variants/scheduler/forecast.h"
#include "shoal/variants/scheduler/memory.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::schedule {

struct Request {
  double at = 0;  // seconds since the day began
  size_t task = 0;
  uint64_t input = 0;  // requests with the same input one after another run fragments once
  bool cloud_up = true, worker_up = true;
  // The request's own demands, besides the task's.
  double latency_ms = std::numeric_limits<double>::infinity();
  double accuracy = 0;  // at least, a share
};

enum class Verdict : uint8_t {
  kTaken,
  kLess,      // its score is lower
  kNoLink,    // the other server cannot be reached
  kTooSlow,   // for the task's latency
  kNoRoom,    // more than all memory
  kNoBudget,  // it would exceed what is left
  kNotWorth,  // what it costs is worth more to later requests
  kTooRough,  // less accurate than the request wishes
  kRetired,   // not in use at present
};
const char* name_of(Verdict verdict);

struct Judged {
  Verdict verdict = Verdict::kLess;
  double score = 0;  // only of those that are possible
};

struct Decision {
  Request request;
  std::optional<size_t> option;              // none: the request is dropped
  bool loads = false;                        // it must be loaded first
  std::optional<size_t> preload;             // an option of the task to load in the background
  std::vector<OptionId> evicted;             // before anything is loaded
  bool runs_fragment = false;                // otherwise another request has run it for this input
  double ms = 0;                             // until the answer, a fallback not included
  double joules = 0, dollars = 0;            // charged, page-ins and fallback included
  double joules_left = 0, dollars_left = 0;  // afterwards
  double joule_price = 0, dollar_price = 0;
  std::vector<Judged> judged;  // all options of the task
};

class Scheduler {
 public:
  // REQUIRES: check(catalog) and check(budgets) are OK.
  Scheduler(Catalog catalog, const Budgets& budgets, const Paging& paging);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Charges what the answer may cost at most. Valid until the next call. Times ascend.
  const Decision& decide(const Request& request);
  // An answer has come, with or without the fallback. Refunds what was not spent, and updates the
  // fallback's share.
  void settle(const Decision& decision, bool fell);
  // No answer came, because a machine was unreachable: refunds money, not energy. Decide again for
  // the request.
  void give_back(const Decision& decision);

  // Whether to plan again: after a 64th of the requests that were left, or if the link changed.
  bool plan_due() const;
  void plan(double now);

  // Replaces a variant, as when the current classes change; the old one leaves the memory.
  // REQUIRES: check() is OK with it.
  void replace(OptionId id, Option option);
  // Whether an option may be taken: a special network is useless while other classes are seen.
  void set_in_use(OptionId id, bool in_use);
  // How long an answer takes elsewhere, as it was measured.
  void set_ms(OptionId id, double ms) { catalog_.tasks[id.task].options[id.option].ms = ms; }
  bool in_use(OptionId id) const { return in_use_[id.task][id.option]; }

  // The next day, with what was learned about requests and what is in memory.
  void begin_day(const Budgets& budgets);

  const Catalog& catalog() const { return catalog_; }
  double joules_left() const { return joules_left_; }
  double dollars_left() const { return dollars_left_; }
  const Memory& memory() const { return memory_; }
  // The estimated share of the fallback, from observations.
  double fallback_share(OptionId id) const { return falls_[id.task][id.option]; }

 private:
  struct Cost {
    double accuracy = 0, joules = 0, dollars = 0;
  };
  struct Candidate {
    Verdict verdict = Verdict::kLess;
    double score = 0, ms = 0;
    double joules = 0, dollars = 0;  // at most, page-in not included
    bool slow_to_load = false;       // only loading it takes too long
  };

  const Option& option(OptionId id) const { return catalog_.tasks[id.task].options[id.option]; }
  Cost expected_cost(OptionId id) const;  // over many answers
  double score_of(OptionId id) const;
  int64_t most_bytes(OptionId id) const;  // with its fragment
  double page_joules(OptionId id) const;
  double most_joules(OptionId id) const;  // of an answer, with fragment and fallback
  bool is_wanted(OptionId id) const { return wanted_.options[id.task] == id.option; }
  bool has_run(const Request& request, size_t fragment) const;
  std::optional<size_t>& last_of(const Request& request) {
    return last_[(request.cloud_up ? 1U : 0U) + (request.worker_up ? 2U : 0U)][request.task];
  }
  Candidate judge(const Request& request, OptionId id) const;
  void choose(const Request& request);
  void preload(const Request& request);
  void take(const Request& request, OptionId id, const Candidate& candidate);
  bool make_room(OptionId id, bool may_evict_all);
  void load(OptionId id, double now);
  double expected_left(double now) const;  // requests
  bool is_possible(OptionId id) const;
  std::vector<std::vector<Holding>> holdings(double now) const;
  void update_wanted(double now);
  void price(double now, bool only_what_fits);
  bool takes_reserve(size_t task, double joules, double page_in) const;
  void keep_reserve(double now);

  Catalog catalog_;
  Budgets budgets_;
  Paging paging_;
  Forecast forecast_;
  Memory memory_;
  double joules_left_, dollars_left_;
  double joule_price_ = 0, dollar_price_ = 0;
  double reserve_ = 0;     // joules, for the cheapest answers to all requests that may still come
  double page_price_ = 0;  // of a joule for reading what displaces others
  bool has_reserve_ = false;  // there was enough in the morning
  bool cloud_up_ = true, worker_up_ = true, link_changed_ = false;
  size_t since_plan_ = 0, next_plan_ = 1;  // decisions
  ResidentSet wanted_;
  // The last option of each task, for each state of the links: an option taken because a link was
  // down is not kept when it is back.
  std::array<std::vector<std::optional<size_t>>, 4> last_;
  std::vector<double> least_joules_;        // of an answer here, of each task
  int turned_down_ = 0;                     // plans in a row that wanted others in memory
  std::vector<std::vector<double>> falls_;  // share of answers by the fallback, of each option
  std::vector<std::vector<bool>> in_use_;   // of each option
  std::vector<double> fragment_runs_;       // share of uses of a fragment that run it
  std::optional<uint64_t> input_;           // the last one
  std::vector<bool> ran_;                   // fragments, for this input
  std::vector<Candidate> candidates_;       // of the present request
  Decision decision_;
};

// The log of a scheduler: a line per decision with the choice, what is left of the budgets, and the
// verdict on every other option.

// "12.034 faces: v2 here 0.914, loads; charged 0.031 J, $0; left 31.2 J, $0.4; prices
// 0.13/J, 14.5/$; v0 here: too slow, v0 cloud: lower score (0.891), v2 here: taken (0.902)".
// REQUIRES: the decision is about this catalog.
std::string explain(const Catalog& catalog, const Decision& decision);

}  // namespace shoal::schedule
