// Blocks that training makes appear: a network learns with penalties, groups that became small are
// set to zero, and its sparse layers are planned as clusters. One JSON line.
//
//   bench_trained_clusters MODEL FOLDER FORMAT EPOCHS SHARE WORKERS PENALTY...
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/model/passes/passes.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/device_presets.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/loop/train.h"
#include "shoal/train/step/optimizer/regularizer.h"
#include "shoal/train/step/weights/rebuild.h"

namespace shoal {
namespace {

struct Arguments {
  fit::TrainingOptions training;
  double share = 0;
  size_t workers = 2;
};

Result<Graph> without_small_groups(const Graph& graph, const Arguments& arguments) {
  std::map<std::string, Tensor> weights;
  for (const std::string& text : arguments.training.penalties) {
    SHOAL_ASSIGN(const train::Regularizer penalty, train::parse_regularizer(text));
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const Value& value = graph[ValueId{static_cast<int32_t>(i)}];
      const bool applies = value.constant && value.type.dtype == DType::kF32 &&
                           value.type.shape.rank() >= 2 &&
                           (!penalty.applies || penalty.applies(value.name));
      if (!applies) continue;
      const Tensor& weight = weights.try_emplace(value.name, *value.constant).first->second;
      weights[value.name] = train::without_small_groups(penalty, weight, arguments.share);
    }
  }
  return train::with_constants(graph, weights);
}

Status measure(const Arguments& arguments) {
  const auto device = make_cpu_device({.threads = 1});
  SHOAL_ASSIGN(const fit::TrainingResult learned, fit::train(*device, arguments.training));
  SHOAL_ASSIGN(const Model model, open_model(arguments.training.out.string()));
  SHOAL_ASSIGN(const LoadedGraph one, model.graph_for_batch(1));
  SHOAL_ASSIGN(const Graph sparse, without_small_groups(one.graph, arguments));
  SHOAL_TRY(onnx::write_onnx(sparse, arguments.training.out));
  SHOAL_ASSIGN(const Model written, open_model(arguments.training.out.string()));
  SHOAL_ASSIGN(Session session, written.session(*device));
  SHOAL_ASSIGN(const fit::Evaluation after, fit::evaluate(session, *learned.held_out));
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(sparse));
  SHOAL_ASSIGN(const auto board, plan::find_device("pi4"));
  SHOAL_ASSIGN(const auto link, plan::find_link("gigabit"));
  SHOAL_ASSIGN(const auto plans,
               plan::compare_plans(optimized, plan::uniform_cluster(arguments.workers, board, link),
                                   {.cuts = {plan::Cut::kClusters}, .forced = true}));
  const auto clusters = plan::summarize(plans).clusters.value_or(plan::ClusterSummary{});
  std::printf(
      "{\"workers\":%zu,\"top1_learned\":%.2f,\"top1\":%.2f,\"fc_bytes\":%lld,"
      "\"fc_bytes_dense\":%lld,\"saved_percent\":%.1f}\n",
      arguments.workers, learned.evaluation.top1(), after.top1(),
      static_cast<long long>(clusters.bytes), static_cast<long long>(clusters.dense_bytes),
      100 - 100 * static_cast<double>(clusters.bytes) / static_cast<double>(clusters.dense_bytes));
  return {};
}

}  // namespace
}  // namespace shoal

int main(int count, char** words) {
  constexpr int kPenalties = 7;  // the first of them
  if (count <= kPenalties) {
    std::fprintf(stderr, "MODEL FOLDER FORMAT EPOCHS SHARE WORKERS PENALTY...\n");
    return 2;
  }
  shoal::Arguments arguments;
  arguments.training.model = words[1];
  arguments.training.data = words[2];
  arguments.training.format = words[3];
  arguments.training.epochs = std::atoll(words[4]);
  arguments.training.out = "trained_clusters.onnx";
  arguments.training.penalties.assign(words + kPenalties, words + count);
  arguments.share = std::atof(words[5]);
  arguments.workers = static_cast<size_t>(std::atoll(words[6]));
  const shoal::Status status = shoal::measure(arguments);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
