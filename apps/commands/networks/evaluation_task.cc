#include "apps/commands/networks/evaluation_task.h"

#include <algorithm>

namespace shoal::config {
namespace {

using enum EvaluationTask;

constexpr std::string_view kTasks[] = {"classify", "detect", "track", "gate"};  // in their order

struct Format {
  std::string_view name;
  EvaluationTask task;
};
constexpr Format kFormats[] = {{"idx", kClassify},    {"cifar", kClassify}, {"npy", kClassify},
                               {"folder", kClassify}, {"yolo", kDetect},    {"mot", kTrack},
                               {"video", kGate}};

}  // namespace

std::vector<std::string> evaluation_tasks() { return {std::begin(kTasks), std::end(kTasks)}; }

std::vector<std::string> evaluation_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

Result<EvaluationTask> evaluation_task(std::string_view task, std::string_view format) {
  const auto found = std::ranges::find(kFormats, format, &Format::name);
  if (found == std::end(kFormats) || kTasks[static_cast<size_t>(found->task)] != task) {
    return invalid(
        "--task detect reads --format yolo, track reads mot, gate reads video, classify the rest");
  }
  return found->task;
}

}  // namespace shoal::config
