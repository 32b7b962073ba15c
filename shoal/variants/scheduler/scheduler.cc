#include "shoal/variants/scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/number_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/variants/scheduler/packing.h"

namespace shoal::schedule {
namespace {

constexpr double kEqual = 1e-7;     // scores, which are about 1
constexpr double kAlike = 0.001;    // accuracy for which energy is not spent
constexpr double kSettled = 0.005;  // a task's last option stays while it is that near to the best
constexpr double kLoss = 0.05;      // a request is dropped if its answer costs others that much
constexpr double kLittle = 0.7;     // answers that a change should gain in the rest of the day
constexpr double kPagingGain =
    0.015;                          // in accuracy, that is worth each request's part of a surplus
constexpr double kPlansAhead = 64;  // plans until the requests that are left are e times fewer
constexpr int kPatience = 3;        // plans that must agree before memory changes (hysteresis)
constexpr double kResidency = 1.0 / 12;  // of a day: how long a variant pays for its page-in
constexpr double kReserves = 2;          // so often the day's energy must have it, or there is none
constexpr double kDeviations = 3;        // of a count of requests, that a reserve allows for
constexpr double kNone = 0.5;            // requests: fewer are expected to be none
constexpr double kFew = 1.0 / 50;        // weight of an answer in a share that is watched

std::vector<double> per_day(const Catalog& catalog) {
  std::vector<double> requests;
  for (const Task& task : catalog.tasks) requests.push_back(task.requests_per_day);
  return requests;
}

std::string text_of(const Option& option) {
  std::string text = printable(option.variant) + " " + name_of(option.place);
  if (option.cut > 0) text += " after " + std::to_string(option.cut);
  return text;
}

bool has_score(Verdict verdict) {
  return verdict == Verdict::kTaken || verdict == Verdict::kLess || verdict == Verdict::kNotWorth;
}

}  // namespace

const char* name_of(Verdict verdict) {
  constexpr const char* kNames[] = {"taken",        "lower score", "no link",
                                    "too slow",     "no room",     "over budget",
                                    "not worth it", "too rough",   "not in use"};
  return kNames[static_cast<size_t>(verdict)];
}

Scheduler::Scheduler(Catalog catalog, const Budgets& budgets, const Paging& paging)
    : catalog_(std::move(catalog)),
      budgets_(budgets),
      paging_(paging),
      forecast_(per_day(catalog_), budgets.seconds),
      memory_(catalog_, budgets.bytes),
      joules_left_(budgets.joules),
      dollars_left_(budgets.dollars),
      fragment_runs_(catalog_.fragments.size(), 1),
      ran_(catalog_.fragments.size(), false) {
  wanted_.options.resize(catalog_.tasks.size());
  for (auto& last : last_) last.resize(catalog_.tasks.size());
  least_joules_.resize(catalog_.tasks.size());
  for (const Task& task : catalog_.tasks) {
    auto& shares = falls_.emplace_back();
    for (const Option& option : task.options)
      shares.push_back(option.fallback ? option.fallback->share : 0);
    in_use_.emplace_back(task.options.size(), true);
  }
  turned_down_ = kPatience;  // nothing is in memory that could be worth keeping
  plan(0);
}

void Scheduler::replace(OptionId id, Option option) {
  if (memory_.has(id)) memory_.evict(id);
  if (is_wanted(id)) wanted_.options[id.task].reset();
  falls_[id.task][id.option] = option.fallback ? option.fallback->share : 0;
  catalog_.tasks[id.task].options[id.option] = std::move(option);
}

void Scheduler::set_in_use(OptionId id, bool in_use) {
  if (!in_use && memory_.has(id)) memory_.evict(id);
  if (!in_use && is_wanted(id)) wanted_.options[id.task].reset();
  in_use_[id.task][id.option] = in_use;
}

void Scheduler::begin_day(const Budgets& budgets) {
  budgets_ = budgets;
  joules_left_ = budgets.joules;
  dollars_left_ = budgets.dollars;
  forecast_.end_day();
  memory_.restart_clock();
  input_.reset();
  plan(0);
}

Scheduler::Cost Scheduler::expected_cost(OptionId id) const {
  const Option& one = option(id);
  Cost cost{one.accuracy, one.joules, one.dollars};
  if (one.fragment) {
    cost.joules += fragment_runs_[*one.fragment] * catalog_.fragments[*one.fragment].joules;
  }
  if (one.fallback) {
    const double falls = falls_[id.task][id.option];
    cost.accuracy += falls * (one.fallback->accuracy - one.accuracy);
    cost.joules += falls * one.fallback->joules;
    cost.dollars += falls * one.fallback->dollars;
  }
  return cost;
}

double Scheduler::score_of(OptionId id) const {
  const Cost cost = expected_cost(id);
  return catalog_.tasks[id.task].weight * cost.accuracy - joule_price_ * cost.joules -
         dollar_price_ * cost.dollars;
}

double Scheduler::page_joules(OptionId id) const {
  return paging_.joules_per_byte * static_cast<double>(memory_.extra_bytes(id));
}

int64_t Scheduler::most_bytes(OptionId id) const {
  const Option& one = option(id);
  return one.bytes + (one.fragment ? catalog_.fragments[*one.fragment].bytes : 0);
}

double Scheduler::most_joules(OptionId id) const {
  const Option& one = option(id);
  return one.joules + (one.fragment ? catalog_.fragments[*one.fragment].joules : 0) +
         (one.fallback ? one.fallback->joules : 0);
}

bool Scheduler::has_run(const Request& request, size_t fragment) const {
  return input_ == request.input && ran_[fragment];
}

Scheduler::Candidate Scheduler::judge(const Request& request, OptionId id) const {
  const Option& one = option(id);
  Candidate candidate{.ms = one.ms, .joules = one.joules, .dollars = one.dollars};
  double saved = 0;  // against what is expected on the average
  if (one.fragment) {
    const Fragment& fragment = catalog_.fragments[*one.fragment];
    const bool runs = !has_run(request, *one.fragment);
    if (runs) {
      candidate.ms += fragment.ms;
      candidate.joules += fragment.joules;
    }
    saved = (fragment_runs_[*one.fragment] - (runs ? 1 : 0)) * fragment.joules;
  }
  double worst_ms = candidate.ms;
  if (one.fallback) {
    worst_ms += one.fallback->ms;
    candidate.joules += one.fallback->joules;
    candidate.dollars += one.fallback->dollars;
  }
  const auto reject = [&](Verdict verdict) {
    candidate.verdict = verdict;
    return candidate;
  };
  if (!in_use_[id.task][id.option]) return reject(Verdict::kRetired);
  if (one.needs_cloud() && !request.cloud_up) return reject(Verdict::kNoLink);
  if (one.needs_worker() && !request.worker_up) return reject(Verdict::kNoLink);
  if (expected_cost(id).accuracy < request.accuracy) return reject(Verdict::kTooRough);
  const bool loads = one.needs_memory() && !memory_.has(id);
  double load_ms = 0, page_in = 0, paid = 0;
  if (loads) {
    // Evicting others may take the fragment along, so that all of it has to be read.
    const auto bytes = static_cast<double>(most_bytes(id));
    if (most_bytes(id) > budgets_.bytes) return reject(Verdict::kNoRoom);
    // What displaces others will be displaced by them: they have to be read again as well.
    const bool stays = is_wanted(id) || memory_.extra_bytes(id) <= memory_.free();
    const double uses = std::max(1.0, forecast_.left(id.task, request.at));
    load_ms = 1e3 * paging_.seconds_per_byte * bytes;
    page_in = paging_.joules_per_byte * bytes;
    paid = stays ? joule_price_ * page_joules(id) / uses : page_price_ * 2 * page_joules(id);
  } else if (one.needs_memory()) {
    load_ms = 1e3 * std::max(0.0, memory_.ready_at(id) - request.at);
  }
  candidate.ms += load_ms;
  const double limit = std::min(catalog_.tasks[id.task].latency_ms, request.latency_ms);
  if (candidate.joules + page_in > joules_left_ || candidate.dollars > dollars_left_ ||
      takes_reserve(id.task, candidate.joules, page_in)) {
    return reject(Verdict::kNoBudget);
  }
  if (worst_ms + load_ms > limit) {
    candidate.slow_to_load = loads && worst_ms <= limit;
    return reject(Verdict::kTooSlow);
  }
  candidate.score = score_of(id) + joule_price_ * saved - paid;
  return candidate;
}

void Scheduler::choose(const Request& request) {
  const Task& task = catalog_.tasks[request.task];
  constexpr double kImpossible = -std::numeric_limits<double>::infinity();
  const auto judge_all = [&] {
    candidates_.clear();
    double most = kImpossible;
    for (size_t i = 0; i < task.options.size(); ++i) {
      const OptionId id{request.task, i};
      const Candidate& candidate = candidates_.emplace_back(judge(request, id));
      decision_.judged[i] = {candidate.verdict, candidate.score};
      if (candidate.slow_to_load && is_wanted(id)) decision_.preload = i;
      if (candidate.verdict == Verdict::kLess) most = std::max(most, candidate.score);
    }
    return most;
  };
  double most = judge_all();
  if (most == kImpossible && reserve_ > 0) {  // a reserve is no reason to answer nothing
    const double kept = std::exchange(reserve_, 0);
    most = judge_all();
    reserve_ = kept;
  }
  // Of those that are nearly the best, the one that takes less energy, where that has a price.
  const double equal = joule_price_ > 0 ? kAlike * task.weight : kEqual;
  std::optional<size_t> best;
  for (size_t i = 0; i < task.options.size(); ++i) {
    const Candidate& one = candidates_[i];
    if (one.verdict != Verdict::kLess || one.score < most - equal) continue;
    const auto cost = [&](const Candidate& c) { return std::pair(c.joules, c.dollars); };
    if (!best || cost(one) < cost(candidates_[*best])) best = i;
  }
  if (!best) return;
  // Hysteresis: prices move with every plan, and answers should not.
  const double left = std::max(1.0, forecast_.left(request.task, request.at));
  const double settled = std::max(kSettled, kLittle / left) * task.weight;
  if (const auto last = last_of(request); last && candidates_[*last].verdict == Verdict::kLess) {
    const OptionId id{request.task, *last};
    const bool is_there = !option(id).needs_memory() || memory_.has(id);
    if (is_there && most - candidates_[*last].score <= settled) best = last;
  }
  if (candidates_[*best].score < -kLoss * task.weight && !has_reserve_) {
    decision_.judged[*best].verdict = Verdict::kNotWorth;
    return;
  }
  take(request, {request.task, *best}, candidates_[*best]);
}

// A wanted option that could not be loaded in time for this request serves later ones.
void Scheduler::preload(const Request& request) {
  if (!decision_.preload) return;
  const OptionId id{request.task, *decision_.preload};
  const bool loads =
      !decision_.loads && make_room(id, false) && page_joules(id) <= joules_left_ - reserve_;
  if (loads) {
    load(id, request.at);
  } else {
    decision_.preload.reset();
  }
}

bool Scheduler::make_room(OptionId id, bool may_evict_all) {
  const auto fits = [&] { return memory_.extra_bytes(id) <= memory_.free(); };
  for (const bool also_wanted : {false, true}) {
    if (also_wanted && !may_evict_all) break;
    while (!fits()) {
      const auto residents = memory_.by_age();
      const auto victim = std::ranges::find_if(residents, [&](OptionId other) {
        const bool answers =
            other.task == decision_.request.task && decision_.option == other.option;
        return !answers && (also_wanted || !is_wanted(other));
      });
      if (victim == residents.end()) break;
      decision_.evicted.push_back(*victim);
      memory_.evict(*victim);
    }
  }
  return fits();
}

void Scheduler::load(OptionId id, double now) {
  const double joules = page_joules(id);
  const double seconds = paging_.seconds_per_byte * static_cast<double>(memory_.extra_bytes(id));
  memory_.load(id, now + seconds);
  decision_.joules += joules;
  joules_left_ -= joules;
}

void Scheduler::take(const Request& request, OptionId id, const Candidate& candidate) {
  const Option& one = option(id);
  decision_.judged[id.option].verdict = Verdict::kTaken;
  decision_.option = last_of(request) = id.option;
  decision_.ms = candidate.ms;
  if (one.needs_memory()) {
    if (!memory_.has(id)) {
      make_room(id, true);
      decision_.loads = true;
      load(id, request.at);
    }
    memory_.touch(id, request.at);
  }
  if (one.fragment) {
    const bool runs = !has_run(request, *one.fragment);
    decision_.runs_fragment = runs;
    double& share = fragment_runs_[*one.fragment];
    share += kFew * ((runs ? 1 : 0) - share);
    ran_[*one.fragment] = true;
  }
  decision_.joules += candidate.joules;
  decision_.dollars = candidate.dollars;
  joules_left_ -= candidate.joules;
  dollars_left_ -= candidate.dollars;
}

const Decision& Scheduler::decide(const Request& request) {
  forecast_.note_link(cloud_up_, request.at);
  forecast_.note_request(request.task, request.at);
  link_changed_ = link_changed_ || request.cloud_up != cloud_up_ || request.worker_up != worker_up_;
  cloud_up_ = request.cloud_up;
  worker_up_ = request.worker_up;
  ++since_plan_;
  decision_.request = request;
  decision_.option.reset();
  decision_.preload.reset();
  decision_.evicted.clear();
  decision_.loads = decision_.runs_fragment = false;
  decision_.ms = decision_.joules = decision_.dollars = 0;
  decision_.judged.assign(catalog_.tasks[request.task].options.size(), {});
  if (input_ != request.input) ran_.assign(ran_.size(), false);
  choose(request);
  preload(request);
  input_ = request.input;
  decision_.joules_left = joules_left_;
  decision_.dollars_left = dollars_left_;
  decision_.joule_price = joule_price_;
  decision_.dollar_price = dollar_price_;
  return decision_;
}

void Scheduler::settle(const Decision& decision, bool fell) {
  if (!decision.option) return;
  const OptionId id{decision.request.task, *decision.option};
  const Option& one = option(id);
  if (!one.fallback) return;
  double& share = falls_[id.task][id.option];
  share += kFew * ((fell ? 1 : 0) - share);
  if (fell) return;
  joules_left_ += one.fallback->joules;
  dollars_left_ += one.fallback->dollars;
}

void Scheduler::give_back(const Decision& decision) { dollars_left_ += decision.dollars; }

double Scheduler::expected_left(double now) const {
  double left = 0;
  for (size_t t = 0; t < catalog_.tasks.size(); ++t) left += forecast_.left(t, now);
  return left;
}

bool Scheduler::plan_due() const { return link_changed_ || since_plan_ >= next_plan_; }

// Whether a plan may count on it.
bool Scheduler::is_possible(OptionId id) const {
  const Option& one = option(id);
  return in_use(id) && one.ms <= catalog_.tasks[id.task].latency_ms &&
         (worker_up_ || !one.needs_worker());
}

// Prices for what is left. Groups are the requests of a task with and without the link. Without
// memory in the problem, `only_what_fits` leaves out options that need more than is kept for the
// task, or free.
void Scheduler::price(double now, bool only_what_fits) {
  std::vector<ChoiceGroup> groups;
  const double up = forecast_.up_share();
  int64_t kept = 0;
  for (size_t t = 0; t < catalog_.tasks.size(); ++t) {
    if (wanted_.options[t]) kept += option({t, *wanted_.options[t]}).bytes;
  }
  for (size_t t = 0; t < catalog_.tasks.size(); ++t) {
    const Task& task = catalog_.tasks[t];
    const double left = forecast_.left(t, now);
    const auto& own = wanted_.options[t];
    const int64_t fits =
        std::max<int64_t>(0, budgets_.bytes - kept) + (own ? task.options[*own].bytes : 0);
    for (const bool is_up : {true, false}) {
      const double share = is_up ? up : 1 - up;
      ChoiceGroup& group = groups.emplace_back();
      for (size_t i = 0; i < task.options.size(); ++i) {
        const Option& one = task.options[i];
        if (!is_possible({t, i}) || (one.needs_cloud() && !is_up)) continue;
        if (only_what_fits && one.bytes > fits) continue;
        const Cost cost = expected_cost({t, i});
        const double count = share * left;
        const double bytes = only_what_fits ? 0 : share * static_cast<double>(one.bytes);
        group.push_back({.value = count * task.weight * cost.accuracy,
                         .costs = {count * cost.joules, count * cost.dollars, bytes}});
      }
    }
  }
  const auto bytes = static_cast<double>(budgets_.bytes);
  const Packing packing = pack(groups, {joules_left_, dollars_left_, bytes});
  joule_price_ = packing.prices[0];
  dollar_price_ = packing.prices[1];
  double spent = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t c = 0; c < groups[g].size(); ++c) {
      spent += packing.shares[g][c] * groups[g][c].costs[0];
    }
  }
  const double surplus = joules_left_ - spent;
  page_price_ =
      joule_price_ > 0 || surplus <= 0 ? joule_price_ : kPagingGain * expected_left(now) / surplus;
}

// What each variant is worth in memory, over the time that a page-in should last.
std::vector<std::vector<Holding>> Scheduler::holdings(double now) const {
  std::vector<std::vector<Holding>> all;
  const double up = cloud_up_ ? forecast_.up_share() : 0;
  const double window = std::min(kResidency * budgets_.seconds, budgets_.seconds - now);
  for (size_t t = 0; t < catalog_.tasks.size(); ++t) {
    const Task& task = catalog_.tasks[t];
    const double requests = std::max(0.0, window) * forecast_.rate(t, now);
    double away = 0, nearby = 0;  // the best elsewhere, with a link and without
    for (size_t i = 0; i < task.options.size(); ++i) {
      const Option& option = task.options[i];
      if (option.needs_memory() || !is_possible({t, i})) continue;
      away = std::max(away, score_of({t, i}));
      if (option.needs_worker()) nearby = std::max(nearby, score_of({t, i}));
    }
    auto& own = all.emplace_back();
    for (size_t i = 0; i < task.options.size(); ++i) {
      const Option& one = task.options[i];
      if (!one.needs_memory() || !is_possible({t, i})) continue;
      const double score = score_of({t, i});
      const double gain = up * std::max(0.0, score - away) +
                          (one.needs_cloud() ? 0 : (1 - up) * std::max(0.0, score - nearby));
      const double value = requests * gain - joule_price_ * page_joules({t, i});
      own.push_back({.option = i, .value = value, .bytes = one.bytes, .fragment = one.fragment});
    }
    std::ranges::stable_sort(
        own, {}, [&](const Holding& holding) { return task.options[holding.option].joules; });
  }
  return all;
}

// Memory changes only when several plans in a row want it, and it is worth more than what is there.
void Scheduler::update_wanted(double now) {
  const auto all = holdings(now);
  ResidentSet best = best_resident_set(all, catalog_.fragments, budgets_.bytes);
  double kept = 0;
  for (size_t t = 0; t < all.size(); ++t) {
    const auto holding = std::ranges::find_if(
        all[t], [&](const Holding& one) { return wanted_.options[t] == one.option; });
    if (holding != all[t].end()) kept += holding->value;
  }
  if (best.value <= kept + kEqual * std::abs(kept)) {
    turned_down_ = 0;
  } else if (++turned_down_ >= kPatience) {
    wanted_ = std::move(best);
    turned_down_ = 0;
  }
}

// Whether an answer leaves too little for those to come. One that takes no more than the cheapest
// takes its own part only.
bool Scheduler::takes_reserve(size_t task, double joules, double page_in) const {
  const double own = least_joules_[task];
  return joules > own && joules + page_in > joules_left_ - reserve_ + own;
}

// The cost of the cheapest answers here to a cautious number of requests, so that the last of the
// day can be answered: the expected number, or that at the present rate, plus some deviations. None
// if that is more than is left.
void Scheduler::keep_reserve(double now) {
  const double left = std::max(0.0, budgets_.seconds - now);
  double all = 0;
  reserve_ = 0;
  for (size_t t = 0; t < catalog_.tasks.size(); ++t) {
    const Task& task = catalog_.tasks[t];
    std::optional<double> least;
    double page_in = 0;
    for (size_t i = 0; i < task.options.size(); ++i) {
      if (task.options[i].place != Place::kHere || !is_possible({t, i})) continue;
      const double joules = most_joules({t, i});
      if (least && joules >= *least) continue;
      least = joules;
      page_in = page_joules({t, i});
    }
    least_joules_[t] = least.value_or(0);
    const double count = std::max(forecast_.left(t, now), left * forecast_.rate(t, now));
    reserve_ += least_joules_[t] * count + std::min(count, 1.0) * page_in;
    all += count;
  }
  reserve_ *= 1 + kDeviations / std::sqrt(std::max(all, 1.0));
  if (now <= 0) has_reserve_ = kReserves * reserve_ <= joules_left_;
  // The last one may take what is left.
  if (!has_reserve_ || all < kNone) reserve_ = 0;
}

void Scheduler::plan(double now) {
  keep_reserve(now);
  price(now, false);
  update_wanted(now);
  price(now, true);
  next_plan_ = static_cast<size_t>(std::clamp(expected_left(now) / kPlansAhead, 1.0, 1e9));
  since_plan_ = 0;
  link_changed_ = false;
}

std::string explain(const Catalog& catalog, const Decision& decision) {
  const Task& task = catalog.tasks[decision.request.task];
  std::string line = fixed(decision.request.at, 3) + " " + printable(task.name) + ": ";
  if (decision.option) {
    const Option& option = task.options[*decision.option];
    line += text_of(option) + " " + fixed(option.accuracy, 3);
    if (decision.loads) line += ", loads";
    if (option.fragment && !decision.runs_fragment) line += ", fragment as before";
  } else {
    line += "dropped";
  }
  if (decision.preload)
    line += ", loads " + text_of(task.options[*decision.preload]) + " for later";
  for (const OptionId id : decision.evicted) {
    const Task& other = catalog.tasks[id.task];
    line += ", evicts " + printable(other.name) + " " + text_of(other.options[id.option]);
  }
  line += "; charged " + json_number(decision.joules) + " J, $" + json_number(decision.dollars);
  line +=
      "; left " + json_number(decision.joules_left) + " J, $" + json_number(decision.dollars_left);
  line += "; prices " + json_number(decision.joule_price) + "/J, " +
          json_number(decision.dollar_price) + "/$;";
  for (size_t i = 0; i < task.options.size(); ++i) {
    const Judged& judged = decision.judged[i];
    line += (i > 0 ? ", " : " ") + text_of(task.options[i]) + ": " + name_of(judged.verdict);
    if (has_score(judged.verdict)) line += " (" + fixed(judged.score, 4) + ")";
  }
  return line;
}

}  // namespace shoal::schedule
