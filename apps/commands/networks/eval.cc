#include "apps/commands/networks/eval.h"

#include <algorithm>
#include <numeric>

#include "shoal/base/text/number_text.h"

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

namespace shoal::fit {

double images_per_s(const Evaluation& answers, double seconds) {
  return static_cast<double>(answers.images()) / seconds;
}

Facts facts_of(const Evaluation& answers, double seconds) {
  return {{"images", answers.images(), "images"},
          {"top1", answers.top1(), "top-1", 2, " %"},
          {"top5", answers.top5(), "top-5", 2, " %"},
          {"images_per_s", images_per_s(answers, seconds), "images/s", 1},
          {"with_nan", answers.with_nan()}};
}

std::string warning_of(const Evaluation& answers) {
  if (answers.with_nan() == 0) return "";
  return std::to_string(answers.with_nan()) + " of " + std::to_string(answers.images()) +
         " images have scores that are NaN, which count as wrong";
}

}  // namespace shoal::fit

namespace shoal::exits {

Json to_json(const ExitsEvaluation& result, const Runner& runner, double seconds) {
  const auto& macs = runner.stage_macs();
  Json object = object_of(fit::facts_of(result.answers, seconds));
  object["mean_macs"] = result.figures.mean_macs;
  object["macs"] = std::accumulate(macs.begin(), macs.end(), int64_t{0});
  object["exit_share"] = result.figures.share;
  object["exit_precision"] = result.figures.precision;
  return object;
}

std::vector<Facts> rows_of(const ExitsEvaluation& result, const Runner& runner) {
  std::vector<Facts> rows;
  for (size_t i = 0; i < runner.stage_macs().size(); ++i) {
    const bool is_last = i >= runner.exits().size();
    rows.push_back({{"exit", is_last ? std::string("the last") : runner.exits()[i].at, "exit"},
                    {"answers", 100 * result.figures.share[i], "answers", 1, " %"},
                    {"precision", result.figures.precision[i], "precision", 2, " %"}});
  }
  return rows;
}

std::string summary_text(const ExitsEvaluation& result, double seconds) {
  return "all: top-1 " + fixed(result.answers.top1(), 2) + " %, " +
         fixed(result.figures.mean_macs / 1e6, 3) + " M MACs per image, " +
         fixed(fit::images_per_s(result.answers, seconds), 1) + " images/s\n";
}

}  // namespace shoal::exits

namespace shoal::detect {

Json to_json(const Precision& precision, HeadKind head, double seconds) {
  return {{"map50", precision.map50()},
          {"map", precision.map()},
          {"images", precision.images()},
          {"images_per_s", static_cast<double>(precision.images()) / seconds},
          {"head", name_of(head)}};
}

std::string text_of(const Precision& precision, HeadKind head) {
  return std::to_string(precision.images()) + " images, head " + std::string(name_of(head)) +
         ": mAP 50 " + fixed(precision.map50(), 2) + " %, mAP " + fixed(precision.map(), 2) +
         " %\n";
}

}  // namespace shoal::detect

namespace shoal::watch {
namespace {

Facts facts_of(const char* association, const track::MotMetrics& one) {
  return {
      shown("association", association),       {"mota", one.mota(), "MOTA", 2, " %"},
      {"idf1", one.idf1(), "IDF1", 2, " %"},   {"motp", one.motp(), "MOTP", 2, " %"},
      {"misses", one.misses(), "misses"},      {"false_alarms", one.false_alarms(), "false alarms"},
      {"switches", one.switches(), "switches"}};
}

}  // namespace

Json to_json(const GateEvaluation& result) {
  return {{"frames", result.frames},
          {"skipped", result.skipped},
          {"skipped_share", result.skipped_share()},
          {"f1", result.agreement.f1()},
          {"frames_alike", result.frames_alike},
          {"gate_ms_p50", result.gate_ms_p50},
          {"gate_ms_p99", result.gate_ms_p99}};
}

std::string text_of(const GateEvaluation& result) {
  return std::to_string(result.frames) + " frames, " + fixed(100 * result.skipped_share(), 1) +
         " % not looked at; F1 with a look at each " + fixed(result.agreement.f1(), 4) + "; gate " +
         fixed(result.gate_ms_p50, 3) + " ms\n";
}

std::vector<Facts> rows_of(const TrackEvaluation& result) {
  return {facts_of("two scores, filter", result.two_scores),
          facts_of("plain overlap", result.plain)};
}

Json to_json(const TrackEvaluation& result) {
  const std::vector<Facts> rows = rows_of(result);
  Json json = object_of(rows[0]);
  json["frames"] = result.plain.frames();
  json["truths"] = result.plain.truths();
  json["plain"] = object_of(rows[1]);
  return json;
}

}  // namespace shoal::watch
