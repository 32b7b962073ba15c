// Depth: residual blocks go one by one, next the one whose absence raises the held-out loss least.
// The rest is retrained once the target is met.
#include "shoal/shrink/prune/decision/depth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "shoal/base/math/random.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/compress/units/residual_blocks.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::shrink {
namespace {

constexpr size_t kExamples = 512;             // that choose
constexpr uint64_t kDrawStream = 0x64657074;  // "dept": a stream that nothing else draws from

using compress::ResidualBlock;

class Chooser {
 public:
  explicit Chooser(const Means& means) : means_(means) {}

  Status load() {
    const fit::TrainingOptions& recipe = means_.options.recipe;
    SHOAL_ASSIGN(batch_, means_.network(static_cast<int64_t>(recipe.batch)));
    SHOAL_ASSIGN(one_, means_.network(1));
    of_batch_ = compress::residual_blocks(batch_.graph);
    blocks_ = compress::residual_blocks(one_.graph);
    if (blocks_.empty() || blocks_.size() != of_batch_.size()) {
      return Status(Code::kUnsupported, "there is no residual block that could be left out");
    }
    const std::shared_ptr<const Dataset>& held_out = means_.data.held_out;
    if (held_out->size() == 0) return invalid("no examples are held out that could choose");
    std::vector<size_t> first(std::min(held_out->size(), kExamples));
    std::iota(first.begin(), first.end(), size_t{0});
    examples_ = make_subset(held_out, first);
    return {};
  }

  Result<Choice> choose() {
    SHOAL_ASSIGN(const compress::Size before, size_without({}));
    const compress::Target& target = means_.options.target;
    const auto all = static_cast<double>(blocks_.size());
    const auto fewest = static_cast<size_t>(std::ceil(all - target.units * all - 1e-9));
    std::vector<size_t> gone;
    Choice choice;
    for (compress::Size now = before; gone.size() < fewest || !meets(now, before, target);) {
      if (gone.size() == blocks_.size()) {
        return Status(Code::kUnsupported,
                      "without its residual blocks the network still has " +
                          percent(now.macs, before.macs) + " of the multiply-accumulates and " +
                          percent(now.parameters, before.parameters) + " of the parameters");
      }
      SHOAL_ASSIGN(const size_t next, least_missed(gone));
      gone.push_back(next);
      choice.rounds.push_back({.units = gone});
      SHOAL_ASSIGN(now, size_without(gone));
    }
    if (choice.rounds.empty()) choice.rounds.emplace_back();
    return choice;
  }

  Result<std::vector<size_t>> first(size_t count) {
    if (count > blocks_.size()) {
      return Status(Code::kUnsupported, "there are only " + std::to_string(blocks_.size()) +
                                            " residual blocks that could be left out");
    }
    std::vector<size_t> gone;
    while (gone.size() < count) {
      SHOAL_ASSIGN(const size_t next, least_missed(gone));
      gone.push_back(next);
    }
    return gone;
  }

  Result<std::vector<size_t>> ranked() {
    std::vector<double> losses;
    for (size_t block = 0; block < blocks_.size(); ++block) {
      SHOAL_ASSIGN(losses.emplace_back(), loss_without({block}));
    }
    std::vector<size_t> order(losses.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t block) { return losses[block]; });
    return order;
  }

 private:
  static std::string percent(int64_t part, int64_t whole) {
    return std::to_string(std::lround(100.0 * static_cast<double>(part) /
                                      static_cast<double>(std::max<int64_t>(whole, 1)))) +
           " %";
  }

  Result<compress::Size> size_without(const std::vector<size_t>& gone) const {
    SHOAL_ASSIGN(const Graph graph, compress::without_blocks(one_.graph, blocks_, gone));
    return compress::size_without(graph, {}, {});
  }

  Result<size_t> least_missed(const std::vector<size_t>& gone) {
    double least = std::numeric_limits<double>::infinity();
    std::optional<size_t> best;
    for (size_t block = 0; block < blocks_.size(); ++block) {
      if (std::ranges::find(gone, block) != gone.end()) continue;
      std::vector<size_t> more = gone;
      more.push_back(block);
      SHOAL_ASSIGN(const double loss, loss_without(more));
      if (best && !(loss < least)) continue;
      least = loss;
      best = block;
    }
    return *best;
  }

  Result<double> loss_without(const std::vector<size_t>& gone) {
    const auto* cancel = means_.callbacks.cancel;
    if (cancel != nullptr && cancel->load()) return Status(Code::kCancelled, "interrupted");
    const fit::TrainingOptions& recipe = means_.options.recipe;
    SHOAL_ASSIGN(const Graph graph, compress::without_blocks(batch_.graph, of_batch_, gone));
    const Batches batches(*examples_, fit::images_for(graph, recipe.preprocess),
                          fit::evaluation_batches(recipe, fit::classes_of(graph)));
    SHOAL_ASSIGN(const fit::Evaluation evaluation, fit::evaluate(means_.device, graph, batches));
    return evaluation.loss();
  }

  const Means& means_;
  LoadedGraph batch_, one_;
  std::vector<ResidualBlock> of_batch_, blocks_;
  std::shared_ptr<const Dataset> examples_;
};

}  // namespace

Result<Decided> choose_blocks(const Means& means) {
  Chooser chooser(means);
  SHOAL_TRY(chooser.load());
  Decided decided;
  SHOAL_ASSIGN(decided.decision.choice, chooser.choose());
  return decided;
}

Result<std::vector<size_t>> least_missed_blocks(const Means& means, size_t count) {
  Chooser chooser(means);
  SHOAL_TRY(chooser.load());
  return chooser.first(count);
}

Result<std::vector<size_t>> blocks_by_loss(const Means& means) {
  Chooser chooser(means);
  const Status loaded = chooser.load();
  if (loaded.code() == Code::kUnsupported) return std::vector<size_t>();
  SHOAL_TRY(loaded);
  return chooser.ranked();
}

NetworkForBatch without_blocks(NetworkForBatch network, std::vector<size_t> blocks) {
  return fit::changed(std::move(network), [blocks = std::move(blocks)](const Graph& graph) {
    return compress::without_blocks(graph, compress::residual_blocks(graph), blocks);
  });
}

std::vector<GroupLeft> removed_blocks(const Graph& graph, const std::vector<size_t>& blocks) {
  const std::vector<ResidualBlock> all = compress::residual_blocks(graph);
  std::vector<GroupLeft> removed;
  for (size_t block : blocks) removed.push_back({.weights = all[block].weights, .before = 1});
  return removed;
}

std::vector<size_t> drawn_blocks(const Graph& graph, size_t count, uint64_t seed) {
  std::vector<size_t> drawn =
      shuffled(compress::residual_blocks(graph).size(), RandomStream(seed, kDrawStream));
  drawn.resize(std::min(count, drawn.size()));
  return drawn;
}

}  // namespace shoal::shrink
