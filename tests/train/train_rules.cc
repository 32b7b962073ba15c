// train_rules WHAT FOLDER [option=value ...]: what a loss, an optimiser or a schedule does with the
// arrays in FOLDER, written back there for a peer to compare.
//   loss       scores.npy, target.npy, teacher.npy        -> loss.npy, gradient.npy
//   optimizer  weight_I.npy, gradient_I.npy [steps, ...]  -> result_I.npy
//   schedule                                              -> factors.npy
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/train/step/graph/differentiate.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/optimizer/optimizer.h"
#include "shoal/train/step/optimizer/schedule.h"

namespace shoal::train {
namespace {

class Options {
 public:
  Options(int count, char** words) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      values_[word.substr(0, word.find('='))] = std::atof(word.substr(word.find('=') + 1).c_str());
    }
  }
  double number(const std::string& name, double fallback) const {
    const auto position = values_.find(name);
    return position == values_.end() ? fallback : position->second;
  }
  float real(const std::string& name, double fallback) const {
    return static_cast<float>(number(name, fallback));
  }
  int64_t whole(const std::string& name, int64_t fallback) const {
    return static_cast<int64_t>(number(name, static_cast<double>(fallback)));
  }

 private:
  std::map<std::string, double> values_;
};

Status check_loss(const std::string& folder, const Options& options) {
  const Loss loss{.kind = static_cast<Loss::Kind>(options.whole("kind", 0)),
                  .soft = options.whole("soft", 0) != 0,
                  .smoothing = options.real("smoothing", 0),
                  .focal = options.real("focal", 0),
                  .distill = options.real("distill", 0),
                  .temperature = options.real("temperature", 1)};
  SHOAL_ASSIGN(const Tensor scores, read_npy(folder + "/scores.npy"));
  Graph graph;
  const ValueId x = graph.add_input("scores", scores.type());
  SHOAL_ASSIGN(const auto wanted, targets_of(loss, scores.type()));
  std::vector<Tensor> feeds{scores};
  std::vector<ValueId> targets;
  for (const Target& target : wanted) {
    targets.push_back(graph.add_input(target.name, target.type));
    const bool teacher = target.name == "teacher";
    SHOAL_ASSIGN(const Tensor tensor,
                 read_npy(folder + (teacher ? "/teacher.npy" : "/target.npy")));
    feeds.push_back(tensor);
  }
  SHOAL_ASSIGN(const ValueId total, add_loss(graph, loss, x, targets));
  graph.mark_output(total);
  SHOAL_ASSIGN(const Differentiated both, differentiate(graph, total, std::vector{x}));
  SHOAL_ASSIGN(const auto executable, make_reference_device()->compile(both.graph));
  std::vector<Tensor> outputs(2);
  SHOAL_TRY(executable->run(feeds, outputs, {}));
  SHOAL_TRY(write_npy(folder + "/loss.npy", outputs[0]));
  return write_npy(folder + "/gradient.npy", outputs[1]);
}

Status check_optimizer(const std::string& folder, const Options& options) {
  OptimizerOptions optimizer_options{
      .rule = static_cast<OptimizerOptions::Rule>(options.whole("rule", 0)),
      .rate = options.real("rate", 0.01),
      .momentum = options.real("momentum", 0),
      .nesterov = options.whole("nesterov", 0) != 0,
      .beta1 = options.real("beta1", 0.9),
      .beta2 = options.real("beta2", 0.999),
      .epsilon = options.real("epsilon", 1e-8),
      .weight_decay = options.real("weight_decay", 0),
      .max_norm = options.real("max_norm", 0)};
  std::vector<Tensor> weights, all;
  for (int64_t i = 0; i < options.whole("weights", 1); ++i) {
    SHOAL_ASSIGN(Tensor weight, read_npy(folder + "/weight_" + std::to_string(i) + ".npy"));
    SHOAL_ASSIGN(Tensor steps, read_npy(folder + "/gradient_" + std::to_string(i) + ".npy"));
    weights.push_back(std::move(weight));
    all.push_back(std::move(steps));
  }
  Optimizer optimizer(optimizer_options, std::vector<std::string>(weights.size()));
  for (int64_t step = 0; step < all[0].shape()[0]; ++step) {
    std::vector<Tensor> gradients;
    for (size_t i = 0; i < weights.size(); ++i) {
      Region rows = Region::whole(all[i].shape());
      rows.begin[0] = step;
      rows.end[0] = step + 1;
      gradients.push_back(crop(all[i], rows).reshaped(weights[i].shape()));
    }
    SHOAL_TRY(optimizer.update(weights, gradients));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    SHOAL_TRY(write_npy(folder + "/result_" + std::to_string(i) + ".npy", weights[i]));
  }
  return {};
}

Status check_schedule(const std::string& folder, const Options& options) {
  const Schedule schedule{.kind = static_cast<Schedule::Kind>(options.whole("kind", 0)),
                          .warm_up = options.whole("warm_up", 0),
                          .total = options.whole("total", 0),
                          .every = options.whole("every", 1),
                          .drop = options.number("drop", 0.1)};
  Tensor factors({DType::kF64, {schedule.total}});
  for (int64_t i = 0; i < schedule.total; ++i) {
    factors.data<double>()[static_cast<size_t>(i)] = factor_at(schedule, i);
  }
  return write_npy(folder + "/factors.npy", factors);
}

Status check(const std::string& what, const std::string& folder, const Options& options) {
  if (what == "loss") return check_loss(folder, options);
  if (what == "optimizer") return check_optimizer(folder, options);
  if (what == "schedule") return check_schedule(folder, options);
  return invalid("unknown: " + what);
}

}  // namespace
}  // namespace shoal::train

int main(int count, char** words) {
  using namespace shoal::train;
  if (count < 3) return 2;
  const shoal::Status status = check(words[1], words[2], Options(count - 3, words + 3));
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
