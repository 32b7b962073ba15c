#include "shoal/serve/engine/chooser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shoal/base/json_text.h"
#include "shoal/schedule/explain.h"

namespace shoal::serve {
namespace {

constexpr size_t kLines = 100;  // that are kept

std::string member(const char* name, double number) {
  return std::string("\"") + name + "\":" + json_number(number) + ",";
}

}  // namespace

std::string variant_model(const std::string& task, const std::string& variant) {
  return task + "." + variant;
}

Chooser::Chooser(ChooserOptions options, Time now)
    : options_(std::move(options)),
      scheduler_(options_.catalog, options_.budgets, options_.paging),
      day_(now) {
  for (const schedule::Task& task : catalog().tasks) answers_.emplace_back(task.options.size(), 0);
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

Choice Chooser::choose(size_t task, const Wish& wish, Time now) {
  const std::scoped_lock lock(mutex_);
  const double at = seconds_at(now);
  const schedule::Request request{
      .at = at,
      .task = task,
      .input = ++decisions_,
      .cloud_up = false,
      .latency_ms = wish.latency_ms.value_or(std::numeric_limits<double>::infinity()),
      .accuracy = wish.accuracy.value_or(0)};
  const schedule::Decision& decision = scheduler_.decide(request);
  Choice choice;
  choice.number = decisions_;
  choice.why = "#" + std::to_string(decisions_) + " day " + std::to_string(days_) + " " +
               schedule::explain(catalog(), decision);
  const auto model_of = [&](schedule::OptionId id) {
    const schedule::Task& one = catalog().tasks[id.task];
    return variant_model(one.name, one.options[id.option].variant);
  };
  for (const schedule::OptionId id : decision.evicted) choice.evicted.push_back(model_of(id));
  if (decision.preload) choice.preloaded = model_of({task, *decision.preload});
  if (decision.option) {
    choice.variant = catalog().tasks[task].options[*decision.option].variant;
    ++answers_[task][*decision.option];
  } else if (std::ranges::any_of(decision.judged, [](const schedule::Judged& one) {
               return one.verdict == schedule::Verdict::kNoBudget;
             })) {
    choice.retry_after = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(options_.budgets.seconds - at));
  }
  if (options_.log) options_.log(choice.why);
  lines_.push_back(choice.why);
  if (lines_.size() > kLines) lines_.pop_front();
  return choice;
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
      text += (i > 0 ? "," : "") + ("{\"name\":" + json_text(option.variant)) + "," +
              member("accuracy", option.accuracy) + member("ms", option.ms) +
              member("joules", option.joules) + member("dollars", option.dollars) +
              member("bytes", static_cast<double>(option.bytes));
      text += std::string("\"in_memory\":") + (scheduler_.memory().has({t, i}) ? "true" : "false") +
              ",\"answers\":" + std::to_string(answers_[t][i]) + "}";
    }
    text += "]}";
  }
  text += "],\"decisions\":[";
  for (size_t i = 0; i < lines_.size(); ++i) text += (i > 0 ? "," : "") + json_text(lines_[i]);
  return text + "]}";
}

}  // namespace shoal::serve
