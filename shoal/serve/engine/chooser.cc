#include "shoal/serve/engine/chooser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/number_text.h"
#include "shoal/serve/engine/model_part.h"
#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::serve {
namespace {

constexpr size_t kLines = 100;       // that are kept
constexpr double kLately = 1.0 / 8;  // weight of a time in the expected one

std::string member(const char* name, double number) {
  return std::string("\"") + name + "\":" + json_number(number) + ",";
}

// With a place for what will be made: not in use before that.
ChooserOptions with_places(ChooserOptions options) {
  for (const MakesSpecials& one : options.makes) {
    options.catalog.tasks[one.task].options.push_back(
        {.variant = kMadeVariant, .fallback = schedule::Fallback{}});
  }
  return options;
}

}  // namespace

std::string variant_model(const std::string& task, const std::string& variant) {
  return task + "." + variant;
}

std::string model_here(const std::string& task, const schedule::Option& option) {
  const std::string whole = variant_model(task, option.variant);
  return option.place == schedule::Place::kSplit ? name_of(ModelPart{whole, true, option.cut})
                                                 : whole;
}

Chooser::Chooser(ChooserOptions options, Time now)
    : options_(with_places(std::move(options))),
      scheduler_(options_.catalog, options_.budgets, options_.paging),
      day_(now) {
  for (const schedule::Task& task : catalog().tasks) {
    answers_.emplace_back(task.options.size(), 0);
    shares_.push_back(std::ranges::any_of(
        task.options, [](const schedule::Option& one) { return one.fragment.has_value(); }));
  }
  specialisers_.resize(catalog().tasks.size());
  const auto watch = [&](schedule::OptionId id, size_t classes) {
    scheduler_.set_in_use(id, false);
    auto& own = specialisers_[id.task];
    if (!own) own.emplace(classes, options_.special);
  };
  for (const SpecialVariant& special : options_.specials) {
    specials_.push_back(std::make_shared<const SpecialVariant>(special));
    watch(special.id, special.classes);
  }
  for (const MakesSpecials& one : options_.makes) watch(made_id(one.task), one.classes);
  if (!specials_.empty() || !options_.makes.empty()) scheduler_.plan(0);
}

const MakesSpecials* Chooser::maker_of(size_t task) const {
  const auto found = std::ranges::find(options_.makes, task, &MakesSpecials::task);
  return found == options_.makes.end() ? nullptr : &*found;
}

schedule::OptionId Chooser::made_id(size_t task) const {
  return {task, catalog().tasks[task].options.size() - 1};
}

std::shared_ptr<const SpecialVariant> Chooser::find_special(schedule::OptionId id) const {
  const auto found =
      std::ranges::find_if(specials_, [&](const auto& special) { return special->id == id; });
  return found == specials_.end() ? nullptr : *found;
}

std::optional<size_t> Chooser::find_task(const std::string& name) const {
  const auto& tasks = options_.catalog.tasks;
  const auto found = std::ranges::find(tasks, name, &schedule::Task::name);
  if (found == tasks.end()) return std::nullopt;
  return static_cast<size_t>(found - tasks.begin());
}

// Seconds of the day; a new day begins where the last one is over.
double Chooser::seconds_at(Time now) {
  const double since = std::chrono::duration<double>(now - day_).count();
  const double days = std::floor(std::max(since, 0.0) / options_.budgets.seconds);
  if (days > 0) {
    day_ += std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(days * options_.budgets.seconds));
    days_ += static_cast<uint64_t>(days);
    last_ = 0;
    scheduler_.begin_day(options_.budgets);
  }
  last_ = std::max(last_, since - days * options_.budgets.seconds);
  return last_;
}

void Chooser::log(std::string line) {
  if (options_.log) options_.log(line);
  lines_.push_back(std::move(line));
  if (lines_.size() > kLines) lines_.pop_front();
}

Choice Chooser::choose(size_t task, const Wish& wish, Time now, const Reachable& reachable,
                       std::optional<uint64_t> input) {
  const std::scoped_lock lock(mutex_);
  const double at = seconds_at(now);
  ++decisions_;
  const schedule::Request request{
      .at = at,
      .task = task,
      .input = input.value_or(decisions_),
      .cloud_up = reachable.cloud,
      .worker_up = reachable.worker,
      .latency_ms = wish.latency_ms.value_or(std::numeric_limits<double>::infinity()),
      .accuracy = wish.accuracy.value_or(0)};
  const schedule::Decision& decision = scheduler_.decide(request);
  Choice choice;
  choice.number = decisions_;
  choice.why = "#" + std::to_string(decisions_) + " day " + std::to_string(days_) + " " +
               schedule::explain(catalog(), decision);
  const auto model_of = [&](schedule::OptionId id) {
    const schedule::Task& one = catalog().tasks[id.task];
    return model_here(one.name, one.options[id.option]);
  };
  for (const schedule::OptionId id : decision.evicted) {
    for (std::string& model : models_of(id)) choice.evicted.push_back(std::move(model));
  }
  if (decision.preload) choice.preloaded = model_of({task, *decision.preload});
  if (decision.option) {
    const schedule::Option& taken = catalog().tasks[task].options[*decision.option];
    choice.variant = taken.variant;
    choice.place = taken.place;
    choice.cut = taken.cut;
    ++answers_[task][*decision.option];
    choice.special = find_special({task, *decision.option});
  } else if (std::ranges::any_of(decision.judged, [](const schedule::Judged& one) {
               return one.verdict == schedule::Verdict::kNoBudget;
             })) {
    choice.retry_after = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(options_.budgets.seconds - at));
  }
  choice.decision = decision;
  log(choice.why);
  return choice;
}

void Chooser::settle(const Choice& choice, bool fell) {
  const std::scoped_lock lock(mutex_);
  scheduler_.settle(choice.decision, fell);
}

void Chooser::give_back(const Choice& choice) {
  const std::scoped_lock lock(mutex_);
  scheduler_.give_back(choice.decision);
  --answers_[choice.decision.request.task][*choice.decision.option];
  log("#" + std::to_string(choice.number) + " no answer came, money is given back");
}

void Chooser::note_time(const Choice& choice, double ms) {
  const std::scoped_lock lock(mutex_);
  const schedule::OptionId id{choice.decision.request.task, *choice.decision.option};
  const double before = catalog().tasks[id.task].options[id.option].ms;
  scheduler_.set_ms(id, before + kLately * (ms - before));
}

std::vector<std::string> Chooser::models_of(schedule::OptionId id) const {
  const schedule::Task& task = catalog().tasks[id.task];
  std::vector<std::string> models{model_here(task.name, task.options[id.option])};
  const auto special = find_special(id);
  if (special == nullptr) return models;
  const auto general = std::ranges::find_if(task.options, [&](const schedule::Option& option) {
    return option.variant == special->general && option.place == schedule::Place::kHere;
  });
  const auto at = static_cast<size_t>(general - task.options.begin());
  const bool stays = general != task.options.end() && scheduler_.memory().has({id.task, at});
  if (!stays) models.push_back(variant_model(task.name, special->general));
  return models;
}

std::shared_ptr<const SpecialVariant> Chooser::special_in_use(size_t task) const {
  const auto found = std::ranges::find_if(specials_, [&](const auto& one) {
    return one->id.task == task && scheduler_.in_use(one->id);
  });
  return found == specials_.end() ? nullptr : *found;
}

ClassAdvice Chooser::note_class(size_t task, size_t answer, Time now) {
  const std::scoped_lock lock(mutex_);
  auto& specialiser = specialisers_[task];
  if (!specialiser) return {};
  seconds_at(now);
  const double at = seconds_ever();
  specialiser->note(answer, at);
  double falls = 0, even = 1;
  if (const auto special = special_in_use(task)) {
    falls = scheduler_.fallback_share(special->id);
    even = schedule::break_even(catalog().tasks[task].options[special->id.option]);
  }
  return follow(task, specialiser->advise(falls, even, at));
}

void Chooser::use(const std::shared_ptr<const SpecialVariant>& special) {
  const auto& classes = special->network.classes;
  specialisers_[special->id.task]->made({classes.begin(), classes.end()});
  scheduler_.set_in_use(special->id, true);
  scheduler_.plan(last_);
}

ClassAdvice Chooser::follow(size_t task, const schedule::SpecialAdvice& advice) {
  using Kind = schedule::SpecialAdvice::Kind;
  if (advice.kind == Kind::kNothing) return {};
  ClassAdvice then;
  const schedule::Task& own = catalog().tasks[task];
  std::string line = own.name + ": " + advice.why;
  if (advice.kind == Kind::kRetire) {
    if (const auto special = special_in_use(task)) {
      scheduler_.set_in_use(special->id, false);
      then.unloaded = models_of(special->id);
    }
    log(std::move(line));
    return then;
  }
  // The one with fewest classes that has all that are seen.
  std::shared_ptr<const SpecialVariant> best;
  for (const auto& one : specials_) {
    const auto& classes = one->network.classes;
    const auto knows = [&](size_t seen) {
      return std::ranges::find(classes, static_cast<int64_t>(seen)) != classes.end();
    };
    if (one->id.task != task || !std::ranges::all_of(advice.classes, knows)) continue;
    if (best == nullptr || classes.size() < best->network.classes.size()) best = one;
  }
  if (best != nullptr) {
    use(best);
    line += "; " + own.options[best->id.option].variant + " is in use";
  } else if (maker_of(task) != nullptr) {
    then.make = advice.classes;
    line += "; a network for them is being made";
  } else {
    specialisers_[task]->failed(seconds_ever());
    line += "; no variant is for these";
  }
  log(std::move(line));
  return then;
}

bool Chooser::made(size_t task, const MadeSpecial& special, Time now) {
  const std::scoped_lock lock(mutex_);
  seconds_at(now);
  const std::string& name = catalog().tasks[task].name;
  const double even = schedule::break_even(special.option);
  if (!(special.option.fallback->share < even - options_.special.margin)) {
    specialisers_[task]->failed(seconds_ever());
    log(name + ": the network that was made does not pay: it falls back " +
        fixed(special.option.fallback->share, 3) + ", break-even is " + fixed(even, 3));
    return false;
  }
  const MakesSpecials& maker = *maker_of(task);
  const schedule::OptionId id = made_id(task);
  std::erase_if(specials_, [&](const auto& one) { return one->id == id; });
  specials_.push_back(std::make_shared<const SpecialVariant>(
      SpecialVariant{id, special.network, maker.general, maker.classes, maker.probabilities}));
  schedule::Option option = special.option;
  option.variant = kMadeVariant;
  scheduler_.replace(id, std::move(option));
  use(specials_.back());
  log(name + ": the network that was made is in use");
  return true;
}

void Chooser::not_made(size_t task, const Status& why, Time now) {
  const std::scoped_lock lock(mutex_);
  seconds_at(now);
  specialisers_[task]->failed(seconds_ever());
  log(catalog().tasks[task].name + ": no network was made: " + std::string(why.message()));
}

bool Chooser::plan_due() const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.plan_due();
}

void Chooser::plan(Time now) {
  const std::scoped_lock lock(mutex_);
  if (scheduler_.plan_due()) scheduler_.plan(seconds_at(now));
}

std::string Chooser::print() const {
  const std::scoped_lock lock(mutex_);
  const schedule::Budgets& budgets = options_.budgets;
  std::string text = "{\"budgets\":{" + member("joules", budgets.joules) +
                     member("joules_left", scheduler_.joules_left()) +
                     member("dollars", budgets.dollars) +
                     member("dollars_left", scheduler_.dollars_left()) +
                     member("bytes", static_cast<double>(budgets.bytes)) +
                     member("bytes_used", static_cast<double>(scheduler_.memory().used())) +
                     member("seconds", budgets.seconds) + member("at", last_);
  text += "\"days\":" + std::to_string(days_) + "},\"tasks\":[";
  for (size_t t = 0; t < catalog().tasks.size(); ++t) {
    const schedule::Task& task = catalog().tasks[t];
    text += (t > 0 ? "," : "") + ("{\"name\":" + json_text(task.name)) + ",\"variants\":[";
    for (size_t i = 0; i < task.options.size(); ++i) {
      const schedule::Option& option = task.options[i];
      if (option.accuracy == 0 && option.variant == kMadeVariant) continue;  // nothing was made yet
      text += (i > 0 ? "," : "") + ("{\"name\":" + json_text(option.variant)) + "," +
              "\"place\":" + json_text(name_of(option.place)) +
              ",\"cut\":" + std::to_string(option.cut) + "," +
              (option.fragment ? "\"shares\":" + std::to_string(*option.fragment) + "," : "") +
              member("accuracy", option.accuracy) + member("ms", option.ms) +
              member("joules", option.joules) + member("dollars", option.dollars) +
              member("bytes", static_cast<double>(option.bytes));
      text += std::string("\"in_use\":") + (scheduler_.in_use({t, i}) ? "true" : "false") +
              ",\"in_memory\":" + (scheduler_.memory().has({t, i}) ? "true" : "false") +
              ",\"answers\":" + std::to_string(answers_[t][i]) + "}";
    }
    text += "]}";
  }
  text += "],\"shared\":[";
  for (size_t f = 0; f < catalog().fragments.size(); ++f) {
    const schedule::Fragment& fragment = catalog().fragments[f];
    const bool is_known = f < options_.shared.size();
    text += (f > 0 ? "," : "") + ("{\"name\":" + json_text(fragment.name)) + "," +
            member("ms", fragment.ms) + member("joules", fragment.joules) +
            member("bytes", static_cast<double>(fragment.bytes)) +
            "\"runs\":" + std::to_string(is_known ? options_.shared[f]->runs() : 0) +
            ",\"uses\":" + std::to_string(is_known ? options_.shared[f]->uses() : 0) + "}";
  }
  text += "],\"decisions\":[";
  for (size_t i = 0; i < lines_.size(); ++i) text += (i > 0 ? "," : "") + json_text(lines_[i]);
  return text + "]}";
}

}  // namespace shoal::serve
