#include "shoal/engine/run/answers.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "shoal/engine/run/run_files.h"
#include "shoal/engine/run/scores.h"

namespace shoal::fit {

bool calls_for_fallback(RunStep step, const Status& why) {
  switch (why.code()) {
    case Code::kUnavailable:
    case Code::kDeadline:
    case Code::kExhausted:
      return true;
    case Code::kNotFound:
      return step != RunStep::kOpen;
    default:
      return false;
  }
}

Result<Answer> answer_instead(Session& fallback, const Session::Tensors& inputs,
                              const std::string& model, const Status& why) {
  SHOAL_ASSIGN(auto outputs, fallback.run(inputs));
  return Answer{std::move(outputs), model + " answered: " + std::string(why.message())};
}

Json to_json(const Answer& answer, const AnswerView& view) {
  Json json = to_json(answer.outputs, view);
  if (!answer.degraded.empty()) json["degraded"] = answer.degraded;
  return json;
}

namespace {

std::string label_of(const AnswerView& view, size_t index) {
  return index < view.labels.size() ? view.labels[index] : "class " + std::to_string(index);
}

Json elements_of(const Tensor& tensor) {
  Json values = Json::array();
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    for (T x : tensor.data<T>()) values.push_back(static_cast<Compute<T>>(x));
  });
  return values;
}

}  // namespace

bool shows_classes(const Tensor& output, const AnswerView& view) {
  return view.top > 0 && is_scores(output);
}

std::vector<Facts> class_rows(const std::string& name, const Tensor& output,
                              const AnswerView& view) {
  std::vector<Facts> rows;
  for (const RankedClass& r : top_classes(output.data<float>(), view.top)) {
    rows.push_back({shown("#", std::to_string(rows.size() + 1)),
                    {"index", r.index},
                    {"label", label_of(view, r.index), name},
                    {"share", static_cast<float>(r.probability), "share",
                     fixed(100.0 * r.probability, 1) + " %"},
                    {"score", r.score, "score", 4}});
  }
  return rows;
}

Json to_json(const Session::Tensors& outputs, const AnswerView& view) {
  Json result = Json::object();
  for (const auto& [name, tensor] : outputs) {
    Json one = {{"type", name_of(tensor.dtype())},
                {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())}};
    if (shows_classes(tensor, view)) {
      one["top"] = list_of(class_rows(name, tensor, view));
    } else {
      one["data"] = elements_of(tensor);
    }
    result[name] = std::move(one);
  }
  return result;
}

std::vector<Facts> element_rows(const Session::Tensors& outputs, const AnswerView& view) {
  std::vector<Facts> rows;
  for (const auto& [name, tensor] : outputs) {
    if (shows_classes(tensor, view)) continue;
    rows.push_back({shown("output", name), shown("type", to_string(tensor.type())),
                    shown("elements", summary_of(tensor))});
  }
  return rows;
}

std::string summary_of(const Tensor& tensor) {
  constexpr size_t kShown = 6;
  std::string text;
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    const std::span<const T> data = tensor.data<T>();
    for (size_t i = 0; i < std::min(kShown, data.size()); ++i) {
      char number[32];
      std::snprintf(number, sizeof(number), "%s%.5g", i > 0 ? " " : "",
                    static_cast<double>(static_cast<Compute<T>>(data[i])));
      text += number;
    }
    if (data.size() > kShown) text += " ...";
  });
  return text;
}

}  // namespace shoal::fit
