#include "shoal/variants/scheduler/explain.h"

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/number_text.h"
#include "shoal/base/text/printable.h"

namespace shoal::schedule {
namespace {

std::string text_of(const Option& option) {
  std::string text = printable(option.variant) + " " + name_of(option.place);
  if (option.cut > 0) text += " after " + std::to_string(option.cut);
  return text;
}

bool has_score(Verdict verdict) {
  return verdict == Verdict::kTaken || verdict == Verdict::kLess || verdict == Verdict::kNotWorth;
}

}  // namespace

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
