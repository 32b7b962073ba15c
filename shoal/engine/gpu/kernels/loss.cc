// SoftmaxCrossEntropyLoss of the scores x of samples with targets t:
//   loss = weight[t] * (log(sum_c exp(x[c])) - x[t]), of all samples added up, "mean" divided by
//   the
//          sum of their weights
// A sample whose target is no class, or the class that is ignored, has weight 0. And what losses
// and gradients ask of targets: OneHot, and whether integers are equal.
//
// Kernels read integers of 64 bits as two ints, the lower one first.
#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/lines.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

// `target`, the index at this place, and whether an int holds it.
std::string index_text(const Operand& indices, const std::string& place) {
  if (indices.type.dtype == DType::kI32) {
    return "const int target = int_targets[" + place + "];\nconst bool is_int = true;\n";
  }
  return filled(R"(const int target = int_targets[2 * ($place)];
const bool is_int = int_targets[2 * ($place) + 1] == (target < 0 ? -1 : 0);
)",
                {{"place", place}});
}

// What loss and gradient have in common: samples [n, d1, ...] of scores [n, classes, d1, ...].
class Samples {
 public:
  Samples(const NodeSpec& spec, size_t weights)
      : spec_(spec),
        weights_(weights),
        classes_(spec.shape(0)[1]),
        inner_(spec.shape(0).count(2, spec.shape(0).rank())),
        reduction_(spec.node.text("reduction", "mean")) {}

  int64_t count() const { return spec_.shape(0).count() / classes_; }
  bool is_mean() const { return reduction_ == "mean"; }
  bool is_each() const { return reduction_ == "none"; }

  // Scores, targets and weights.
  std::vector<Argument> arguments() const {
    std::vector<Argument> list = only_targets();
    list.push_back({Kind::kInput, 0, "x"});
    return list;
  }
  std::vector<Argument> only_targets() const {
    std::vector<Argument> list{{Kind::kInput, 1, "int_targets"}};
    if (spec_.has(weights_)) list.push_back({Kind::kInput, weights_, "weights"});
    return list;
  }

  // `target`, whether it `counts`, and its `weight`.
  std::string weight_text(const std::string& sample) const {
    std::string counts = "is_int && target >= 0 && target < " + text_of(classes_);
    const int64_t ignored = spec_.node.integer("ignore_index", -1);
    if (ignored >= 0 && ignored < classes_) counts += " && target != " + text_of(ignored);
    return index_text(spec_.inputs[1], sample) + "const bool counts = " + counts +
           ";\nconst float weight = counts ? " +
           (spec_.has(weights_) ? "LOAD(weights, target)" : "1.0f") + " : 0.0f;\n";
  }

  // A kernel with a line for each sample: its weight, the largest score `top`, and the `total` of
  // exp(x - top).
  LineKernel lines() const {
    LineKernel kernel(spec_.device, count(), classes_);
    const std::string inner = text_of(inner_);
    kernel.statement(weight_text("line") + "const int base = line / " + inner + " * " +
                     text_of(classes_ * inner_) + " + line % " + inner + ";\n");
    kernel.reduce("top", "-INFINITY", score("j"), "(b > a ? b : a)");
    kernel.reduce("total", "0.0f", "exp(" + score("j") + " - top)", kSum);
    return kernel;
  }

  std::string place(const std::string& c) const { return "base + " + c + " * " + text_of(inner_); }
  std::string score(const std::string& c) const { return "LOAD(x, " + place(c) + ")"; }

 private:
  const NodeSpec& spec_;
  const size_t weights_;  // the input that has them
  const int64_t classes_, inner_;
  const std::string reduction_;
};

const Argument kRoom{Kind::kScratch, 0, "room"};

}  // namespace

std::optional<Work> make_softmax_cross_entropy(const NodeSpec& spec) {
  if (spec.outputs.size() != 1) return std::nullopt;
  const Samples samples(spec, 2);
  const Argument y{Kind::kOutput, 0, "y"};
  LineKernel each = samples.lines();
  each.statement("const float loss = counts ? weight * (log(total) + top - " +
                 samples.score("target") + ") : 0.0f;\n");
  each.once(samples.is_each()
                ? "STORE(y, line, loss);\n"
                : "STORE(room, 2 * line, loss);\nSTORE(room, 2 * line + 1, weight);\n");
  std::vector<Argument> arguments = samples.arguments();
  arguments.push_back(samples.is_each() ? y : kRoom);
  Work work{.kernel = "lines"};
  work.launches.push_back(each.finish(std::move(arguments)));
  if (samples.is_each()) return work;
  work.scratch = 2 * samples.count();
  LineKernel all(spec.device, 1, samples.count());
  all.reduce("loss", "0.0f", "LOAD(room, 2 * j)", kSum);
  if (samples.is_mean()) {
    all.reduce("weights", "0.0f", "LOAD(room, 2 * j + 1)", kSum);
    all.statement("loss = loss / weights;\n");
  }
  all.once("STORE(y, line, loss);\n");
  work.launches.push_back(all.finish({kRoom, y}));
  return work;
}

// A negative index counts from the end.
std::optional<Work> make_one_hot(const NodeSpec& spec) {
  const Shape& y = spec.output();
  const size_t axis = ops::axis_in(spec.node.integer("axis", -1), y.rank());
  const std::string depth = text_of(y[axis]), inner = text_of(y.count(axis + 1, y.rank()));
  const std::string place = "i / (" + depth + " * " + inner + ") * " + inner + " + i % " + inner;
  return Work{
      "copy",
      {for_each_element(
          y.count(),
          {{Kind::kInput, 0, "int_targets"}, {Kind::kInput, 2, "off_on"}, {Kind::kOutput, 0, "y"}},
          index_text(spec.inputs[0], place) + "const int c = i / " + inner + " % " + depth +
              ";\nconst bool hit = is_int && (target == c || "
              "target + " +
              depth +
              " == c);\n"
              "STORE(y, i, LOAD(off_on, hit ? 1 : 0));\n",
          spec.device)}};
}

std::optional<Work> make_equal_as_float(const NodeSpec& spec) {
  const bool is_wide = spec.inputs[0].type.dtype == DType::kI64;
  std::vector<Argument> arguments;
  std::string body;
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "a" : "b";
    const ops::Strides strides = ops::broadcast_strides(spec.shape(i), spec.output());
    arguments.push_back({Kind::kInput, i, "int_" + name});
    body += "const int " + name + "_at = " + offset_text(spec.output(), strides, "i") + ";\n";
  }
  arguments.push_back({Kind::kOutput, 0, "y"});
  body += is_wide ? "const bool hit = int_a[2 * a_at] == int_b[2 * b_at] && "
                    "int_a[2 * a_at + 1] == int_b[2 * b_at + 1];\n"
                  : "const bool hit = int_a[a_at] == int_b[b_at];\n";
  return Work{"elementwise",
              {for_each_element(spec.output().count(), std::move(arguments),
                                body + "STORE(y, i, hit ? 1.0f : 0.0f);\n", spec.device)}};
}

}  // namespace shoal::gpu
