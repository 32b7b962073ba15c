#include "course.h"

#include <algorithm>

#include "shoal/data/safetensors.h"

namespace shoal::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kState = "state.", kBest = "best.";

json to_json(const Course& course) {
  json results = json::array();
  for (const EpochResult& r : course.results) {
    results.push_back({r.loss, r.top1, r.held_out_loss, r.held_out_top1, r.seconds});
  }
  return {{"epoch", course.epoch}, {"step", course.step},       {"loss_sum", course.loss_sum},
          {"right", course.right}, {"seconds", course.seconds}, {"results", results}};
}

Course course_from(const json& j) {
  Course course{.epoch = j.at("epoch"),
                .step = j.at("step"),
                .loss_sum = j.at("loss_sum"),
                .right = j.at("right"),
                .seconds = j.at("seconds"),
                .results = {}};
  for (const json& r : j.at("results")) {
    course.results.push_back({r.at(0), r.at(1), r.at(2), r.at(3), r.at(4)});
  }
  return course;
}

Status compare(const json& then, const json& now) {
  for (const auto& [name, value] : now.items()) {
    const json other = then.value(name, json());
    if (other == value) continue;
    return invalid("it was made with " + name + " " + other.dump() + ", not " + value.dump());
  }
  return {};
}

}  // namespace

size_t Course::best() const {
  const auto best = std::ranges::max_element(results, {}, &EpochResult::held_out_top1);
  return static_cast<size_t>(best - results.begin());
}

Status write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  TensorFile file;
  for (const auto& [name, tensor] : checkpoint.state)
    file.tensors[std::string(kState) + name] = tensor;
  for (const auto& [name, tensor] : checkpoint.best)
    file.tensors[std::string(kBest) + name] = tensor;
  file.metadata = {{"course", to_json(checkpoint.course).dump()},
                   {"settings", checkpoint.settings.dump()}};
  return write_safetensors(path, file);
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, const json& settings) {
  SHOAL_ASSIGN(TensorFile file, read_safetensors(path));
  const auto corrupt = [&] {
    return Status(Code::kCorrupt, path.string() + ": no checkpoint, or a damaged one");
  };
  if (!file.checked) return corrupt();
  Checkpoint checkpoint;
  try {
    checkpoint.settings = json::parse(file.metadata["settings"]);
    checkpoint.course = course_from(json::parse(file.metadata["course"]));
  } catch (const json::exception&) {
    return corrupt();
  }
  SHOAL_TRY(compare(checkpoint.settings, settings).at(path.string()));
  for (auto& [name, tensor] : file.tensors) {
    const std::string_view prefix = name.starts_with(kBest) ? kBest : kState;
    if (!name.starts_with(prefix)) return corrupt();
    auto& part = prefix == kBest ? checkpoint.best : checkpoint.state;
    part[name.substr(prefix.size())] = std::move(tensor);
  }
  return checkpoint;
}

}  // namespace shoal::cli
