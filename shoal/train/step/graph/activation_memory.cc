#include "shoal/train/step/graph/activation_memory.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "shoal/model/ops/elementwise/cast.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

// The search for what to keep. A value of the forward pass that the backward pass reads ("saved")
// is kept or dropped; a dropped one is computed again from kept ones, right before its first reader
// in the backward pass.
//
//   1. Everything is kept. If that fits, there is nothing to do.
//   2. Runs of consecutive saved values of about b bytes are dropped, and the value after each run
//      is kept. The backward pass has one run in memory at a time, so that the peak is about the
//      kept values and one run. Long runs cost memory, short ones keep too much, and the best
//      length depends on the network: b goes from all bytes down to 1/256 of them in steps of 3/4.
//      Each is tried with recomputed values that stay until their last reader and, for less memory
//      and more work, with values that are computed for each reader anew. The cheapest that fits
//      wins.
//   3. Dropped values are kept after all while they fit, those with most work per byte first.
//
// Whether a candidate fits is not estimated: its graph is built and the device lays it out. That
// happens at most 2 * 20 times in step 2, and once for each dropped value in step 3.

// Which values are kept, in the order of ForwardBackward::saved().
using Kept = std::vector<bool>;

// How long the backward pass has a value that it computed again.
enum class Repeated {
  kStays,   // until its last reader is done
  kIsGone,  // for one reader; it is computed for each of them: more work, the least memory
};

// The step that keeps these values only.
class Repetition {
 public:
  Repetition(const ForwardBackward& step, const Kept& kept, Repeated repeated)
      : step_(step),
        repeated_(repeated),
        rewriter_(step.graph()),
        there_(step.graph().value_count(), false) {
    for (size_t i = 0; i < kept.size(); ++i) there_[at(step.saved()[i])] = kept[i];
  }

  Result<Graph> run() {
    const auto nodes = step_.graph().nodes();
    for (const Node& node : nodes.first(step_.forward())) SHOAL_TRY(rewriter_.copy(node));
    for (const Node& node : nodes.subspan(step_.forward())) {
      SHOAL_TRY(repeat(makers_of_missing(node)));
      SHOAL_TRY(rewriter_.copy(node));
      if (repeated_ == Repeated::kIsGone) forget();
    }
    return rewriter_.finish();
  }

  // Roughly, in multiply-accumulates, what the repeated nodes take.
  int64_t cost() const { return cost_; }

 private:
  bool is_missing(ValueId id) const { return step_.can_be_repeated(id) && !there_[at(id)]; }

  // The nodes to repeat for this reader: those of its inputs that are missing, and of theirs.
  std::set<size_t> makers_of_missing(const Node& reader) const {
    std::set<size_t> makers;
    std::vector<const Node*> open{&reader};
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (ValueId id : node->inputs) {
        if (is_missing(id) && makers.insert(step_.maker_index(id)).second) {
          open.push_back(&step_.maker(id));
        }
      }
    }
    return makers;
  }

  Status repeat(const std::set<size_t>& makers) {
    // A pass over memory takes about as long as this many multiply-accumulates per element.
    constexpr int64_t kMacsPerElement = 20;
    for (size_t n : makers) {
      const Node& node = step_.graph().nodes()[n];
      cost_ += macs(step_.graph(), node);
      const std::vector<ValueId> before = rewriter_.map(node.outputs);
      SHOAL_TRY(rewriter_.copy(node));
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        cost_ += kMacsPerElement * step_.graph()[id].type.shape.count();
        if (is_missing(id)) {
          there_[at(id)] = true;
          again_.push_back(id);
        } else {
          rewriter_.replace(id, before[i]);
        }
      }
    }
    return {};
  }

  void forget() {
    for (ValueId id : again_) there_[at(id)] = false;
    again_.clear();
  }

  const ForwardBackward& step_;
  const Repeated repeated_;
  passes::Rewriter rewriter_;
  std::vector<bool> there_;     // in the backward pass, per value: kept, or computed again by now
  std::vector<ValueId> again_;  // those computed again
  int64_t cost_ = 0;
};

std::string megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

class Search {
 public:
  Search(const ForwardBackward& step, int64_t limit, const BytesOf& bytes_of)
      : step_(step), limit_(limit), bytes_of_(bytes_of) {}

  Result<Graph> run() {
    SHOAL_ASSIGN(std::optional<Choice> best,
                 try_to_keep(Kept(step_.saved().size(), true), Repeated::kStays));
    if (best) return std::move(best->graph);
    SHOAL_ASSIGN(best, cheapest_of_runs());
    if (!best) {
      return Status(Code::kExhausted, "a step needs at least " + megabytes(smallest_) +
                                          " for weights, gradients and activations, " +
                                          megabytes(limit_) +
                                          " are allowed; a smaller batch needs less");
    }
    SHOAL_ASSIGN(best, keep_more(*std::move(best)));
    return std::move(best->graph);
  }

 private:
  struct Choice {
    Kept kept;
    Repeated repeated;
    Graph graph;
    int64_t cost = 0;
  };

  Result<std::optional<Choice>> try_to_keep(Kept kept, Repeated repeated) {
    Repetition repetition(step_, kept, repeated);
    SHOAL_ASSIGN(Graph graph, repetition.run());
    SHOAL_ASSIGN(const int64_t bytes, bytes_of_(graph));
    smallest_ = std::min(smallest_, bytes);
    if (bytes > limit_) return std::optional<Choice>();
    return std::optional(Choice{std::move(kept), repeated, std::move(graph), repetition.cost()});
  }

  // Drops runs of values of this many bytes and keeps the value between two of them.
  Kept runs_of(int64_t bytes) const {
    Kept kept;
    int64_t dropped = 0;
    for (ValueId id : step_.saved()) {
      dropped += step_.bytes(id);
      kept.push_back(dropped > bytes);
      if (kept.back()) dropped = 0;
    }
    return kept;
  }

  Result<std::optional<Choice>> cheapest_of_runs() {
    int64_t total = 0;
    for (ValueId id : step_.saved()) total += step_.bytes(id);
    std::optional<Choice> best;
    for (Repeated repeated : {Repeated::kStays, Repeated::kIsGone}) {
      SHOAL_TRY(try_runs(total, repeated, best));
    }
    return best;
  }

  Status try_runs(int64_t total, Repeated repeated, std::optional<Choice>& best) {
    std::set<Kept> tried;
    constexpr int64_t kFinest = 256, kNumerator = 3, kDenominator = 4;
    for (int64_t b = total; b > total / kFinest; b = b * kNumerator / kDenominator) {
      Kept kept = runs_of(b);
      if (!tried.insert(kept).second) continue;
      SHOAL_ASSIGN(std::optional<Choice> choice, try_to_keep(std::move(kept), repeated));
      if (choice && (!best || choice->cost < best->cost)) best = std::move(choice);
    }
    return {};
  }

  // Keeps more values while they fit, those with most work per byte first.
  Result<std::optional<Choice>> keep_more(Choice best) {
    std::vector<size_t> order;
    for (size_t i = 0; i < best.kept.size(); ++i) {
      if (!best.kept[i]) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::greater(), [&](size_t i) {
      const ValueId id = step_.saved()[i];
      return static_cast<double>(macs(step_.graph(), step_.maker(id))) /
             static_cast<double>(std::max<int64_t>(step_.bytes(id), 1));
    });
    for (size_t i : order) {
      Kept kept = best.kept;
      kept[i] = true;
      SHOAL_ASSIGN(std::optional<Choice> choice, try_to_keep(std::move(kept), best.repeated));
      if (choice) best = *std::move(choice);
    }
    return std::optional(std::move(best));
  }

  const ForwardBackward& step_;
  const int64_t limit_;
  const BytesOf& bytes_of_;
  int64_t smallest_ = std::numeric_limits<int64_t>::max();
};

// Every large activation that the backward pass reads gets two casts: to bf16 right after it is
// computed, so that the f32 original ends with the forward pass, and back to f32 right before its
// first reader in the backward pass. Its readers there follow each other, so one cast back is
// enough.

class Narrowing {
 public:
  Narrowing(const Graph& step, ValueId loss)
      : step_(step, loss),
        rewriter_(step),
        wanted_(step.value_count(), false),
        narrow_(step.value_count(), kNoValue) {
    for (ValueId id : step_.saved()) wanted_[at(id)] = is_worth_it(step[id].type);
  }

  Result<Graph> run() {
    const auto nodes = step_.graph().nodes();
    for (const Node& node : nodes.first(step_.forward())) {
      SHOAL_TRY(rewriter_.copy(node));
      for (ValueId id : node.outputs) {
        if (wanted_[at(id)]) SHOAL_TRY(narrow(id));
      }
    }
    for (const Node& node : nodes.subspan(step_.forward())) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue && narrow_[at(id)] != kNoValue) SHOAL_TRY(widen(id));
      }
      SHOAL_TRY(rewriter_.copy(node));
    }
    return rewriter_.finish();
  }

 private:
  // Scores and statistics take next to no memory, and keep all their digits. 4096 elements are 16
  // kB.
  static bool is_worth_it(const TensorType& type) {
    constexpr int64_t kElements = 4096;
    return type.dtype == DType::kF32 && type.shape.count() >= kElements;
  }

  // Rounding is to nearest, ties to even. Truncation would shrink every activation a little, and
  // gradients with them.
  Status narrow(ValueId id) {
    SHOAL_ASSIGN(narrow_[at(id)],
                 rewriter_.to().add(ops::cast, {rewriter_.map(id)},
                                    {{"to", ops::onnx_number_of(DType::kBF16)},
                                     {ops::kRoundMode, std::string(ops::kNearest)}},
                                    step_.graph()[id].name + ".bf16"));
    return {};
  }

  Status widen(ValueId id) {
    SHOAL_ASSIGN(const ValueId wide, rewriter_.to().add(ops::cast, {narrow_[at(id)]},
                                                        {{"to", ops::onnx_number_of(DType::kF32)}},
                                                        step_.graph()[id].name + ".wide"));
    rewriter_.replace(id, wide);
    narrow_[at(id)] = kNoValue;
    return {};
  }

  const ForwardBackward step_;
  passes::Rewriter rewriter_;
  std::vector<bool> wanted_;     // per value
  std::vector<ValueId> narrow_;  // per value: in the new graph, until it is wide again
};

}  // namespace

// The constructor visits the forward pass only, so that values of the backward pass have no maker
// and are never repeated.
ForwardBackward::ForwardBackward(const Graph& step, ValueId loss)
    : step_(step), maker_(step.value_count(), kNobody), is_output_(step.value_count(), false) {
  for (ValueId id : step.outputs()) is_output_[at(id)] = true;
  for (size_t n = 0; n < step.nodes().size() && forward_ == 0; ++n) {
    for (ValueId id : step.nodes()[n].outputs) {
      maker_[at(id)] = n;
      if (id == loss) forward_ = n + 1;
    }
  }
  find_saved();
}

// The set removes duplicates. The order of the nodes matters to the search for what to recompute,
// which drops runs of consecutive values.
void ForwardBackward::find_saved() {
  std::set<ValueId> read;
  for (const Node& node : step_.nodes().subspan(forward_)) {
    for (ValueId id : node.inputs) {
      if (can_be_repeated(id)) read.insert(id);
    }
  }
  saved_.assign(read.begin(), read.end());
  std::ranges::sort(saved_, {}, [&](ValueId id) { return maker_index(id); });
}

Result<Graph> recompute(const Graph& step, ValueId loss, int64_t limit, const BytesOf& bytes_of) {
  const ForwardBackward parted(step, loss);
  return Search(parted, limit, bytes_of).run();
}

Result<Graph> store_bf16(const Graph& step, ValueId loss) { return Narrowing(step, loss).run(); }

}  // namespace shoal::train
