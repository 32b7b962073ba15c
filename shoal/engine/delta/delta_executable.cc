// A run compares its inputs with those kept and goes through the nodes in order. A node none of
// whose inputs changed is skipped. A node whose kernel can compute rectangles computes those that
// cover the pixels that read a changed one (changes.h); other kernels compute their whole output,
// which is right as well, because all inputs are kept.
//
// With a threshold, results go to other memory, and only pixels that differ by more are copied to
// the kept values: later nodes see every change of these.
//
// In granules of Winograd's transforms all pixels are rounded anew when one changes. If results
// must equal a whole run bit by bit, the whole granule counts as changed.
#include "shoal/engine/delta/delta_executable.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "shoal/base/round_up.h"
#include "shoal/engine/delta/changes.h"

namespace shoal::delta {
namespace {

using Clock = std::chrono::steady_clock;
using cpu::Rectangle;

// Share of the pixels from which on a node is computed whole.
constexpr double kMostTiles = 0.9;

Tensor borrowed(const TensorType& type, const std::byte* data) {
  return Tensor::view(type, data, nullptr);
}

double steady_ms() {
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

// Pixels that rectangles may hold besides those that changed, as a share of these: a kernel takes
// longer for many small rectangles than for a few more pixels.
constexpr double kMostAdded = 0.25;

Rectangle whole_of(const Grid& grid) { return {{0, grid.height}, {0, grid.width}}; }

// What kernels compute of these rectangles, in squares of `granule` pixels.
int64_t granules_of(const Rectangle& one, int64_t granule) {
  return ceil_div(one.rows.count(), granule) * ceil_div(one.columns.count(), granule);
}
int64_t granules_of(std::span<const Rectangle> rectangles, int64_t granule) {
  int64_t all = 0;
  for (const Rectangle& one : rectangles) all += granules_of(one, granule);
  return all;
}

// Whether several pixels read one, so that more of them change from layer to layer.
bool grows(const std::vector<Reach>& reach) {
  const auto is_long = [](const ops::Range& range) { return range.count() > 1; };
  return std::ranges::any_of(reach, [&](const Reach& one) {
    return std::ranges::any_of(one.rows, is_long) || std::ranges::any_of(one.columns, is_long);
  });
}

}  // namespace

DeltaExecutable::DeltaExecutable(std::unique_ptr<cpu::CpuExecutable> whole,
                                 const DeltaOptions& options,
                                 std::shared_ptr<DeltaCounters> counters)
    : whole_(std::move(whole)),
      options_(options),
      counters_(std::move(counters)),
      values_(graph().value_count()),
      resets_(counters_->resets),
      policy_(options.most_changed, options.adapts) {
  for (const ValueId id : graph().inputs()) {
    const Shape& shape = graph()[id].type.shape;
    value(id).changed = Changes(uses_histograms(id) ? blocks_of(shape, options_.histograms->side)
                                                    : tiles_of(shape, options_.tile, 1));
  }
  for (size_t i = 0; i < graph().nodes().size(); ++i) {
    add_layer(graph().nodes()[i], *whole_->steps()[i].kernel);
  }
  computed_.resize(layers_.size());
}

void DeltaExecutable::add_layer(const Node& node, const cpu::Kernel& kernel) {
  const std::vector<TensorType> types = graph().types(node.outputs);
  const auto* by_tiles =
      types.size() == 1 ? dynamic_cast<const cpu::RectangleKernel*>(&kernel) : nullptr;
  const int64_t granule = by_tiles != nullptr ? by_tiles->granule() : 1;
  for (size_t i = 0; i < types.size(); ++i) {
    value(node.outputs[i]).changed = Changes(tiles_of(types[i].shape, options_.tile, granule));
  }
  Layer layer{.reach = reach_of(graph(), node),
              .kernel = by_tiles,
              .granule = granule,
              .macs = static_cast<double>(macs(graph(), node))};
  layer.is_checked = options_.threshold > 0 && by_tiles != nullptr &&
                     types[0].dtype == DType::kF32 && grows(layer.reach);
  macs_ += layer.macs;
  layers_.push_back(std::move(layer));
}

bool DeltaExecutable::uses_histograms(ValueId input) const {
  const TensorType& type = graph()[input].type;
  return options_.histograms && type.dtype == DType::kF32 && type.shape.rank() == 4 &&
         type.shape.count() > 0;
}

MemoryUse DeltaExecutable::memory() const {
  MemoryUse use = whole_->memory();
  for (size_t v = 0; v < graph().value_count(); ++v) {
    const auto& one = graph()[static_cast<ValueId>(v)];
    if (!one.constant) use.planned += static_cast<int64_t>(one.type.bytes());
  }
  return use;
}

Status DeltaExecutable::allocate() {
  SHOAL_ASSIGN(KeptValues kept, keep_values(*whole_));
  size_t largest = 0;
  for (size_t v = 0; v < values_.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    values_[v].kept = kept.at(id);
    if (!graph()[id].constant) largest = std::max(largest, graph()[id].type.bytes());
  }
  if (options_.threshold > 0) {
    SHOAL_ASSIGN(auto fresh, cpu::make_frame(largest, 0));
    fresh_ = std::move(fresh->arena);
  }
  kept_ = std::move(kept);
  return {};
}

Status DeltaExecutable::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                            const RunOptions& options) try {
  SHOAL_CHECK(inputs.size() == graph().inputs().size());
  SHOAL_CHECK(outputs.size() == graph().outputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHOAL_CHECK(inputs[i].type() == graph()[graph().inputs()[i]].type);
  }
  const std::scoped_lock lock(mutex_);
  return run_locked(inputs, outputs, options);
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

Status DeltaExecutable::run_locked(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                   const RunOptions& options) {
  if (!kept_) SHOAL_TRY(allocate());
  const uint64_t resets = counters_->resets;
  if (std::exchange(resets_, resets) != resets) is_filled_ = false;
  const double begin = steady_ms();
  if (!is_filled_ && options_.histograms) {
    histograms_.assign(inputs.size(), BlockHistograms(*options_.histograms));
    compare(inputs);
  }
  if (is_filled_ && is_next_whole(inputs)) {
    SHOAL_TRY(run_whole(inputs, outputs, options));
    policy_.computed_whole(steady_ms() - begin);
    return {};
  }
  if (is_filled_) find_changes(inputs);
  was_whole_ = false;
  SHOAL_ASSIGN(const double macs, run_tiles(inputs, outputs, options));
  policy_.computed_tiles(macs_ > 0 ? macs / macs_ : 0, steady_ms() - begin);
  return {};
}

bool DeltaExecutable::is_next_whole(std::span<const Tensor> inputs) {
  if (policy_.is_waiting()) {  // inputs are not inspected, so changes are unknown
    for (const ValueId id : graph().inputs()) value(id).changed.fill(true);
    return policy_.is_whole(1);
  }
  const double changed = compare(inputs), before = std::exchange(last_changed_, changed);
  if (!options_.histograms) return policy_.is_whole(changed);
  // All blocks may expire at once without motion, which is no reason to compute whole frames.
  const bool whole = policy_.is_whole(std::min(changed, before));
  if (whole) policy_.wait();  // if everything moves, checking every second frame suffices
  return whole;
}

double DeltaExecutable::compare(std::span<const Tensor> inputs) {
  int64_t changed = 0, all = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& x = value(graph().inputs()[i]);
    all += x.changed.grid().pixels();
    if (!uses_histograms(graph().inputs()[i])) {
      find_tiles(inputs[i], was_whole_ ? last_[i] : x.kept, x);
      changed += x.changed.pixels();
      continue;
    }
    const TileMask blocks =
        histograms_[i].update(inputs[i], options_.now_ms ? options_.now_ms() : steady_ms());
    if (!was_whole_) x.changed.fill(false);
    x.changed.add(blocks);
    changed += blocks.pixels();
  }
  return all == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(all);
}

void DeltaExecutable::find_tiles(const Tensor& input, const Tensor& old, Value& x) {
  const Grid& grid = x.changed.grid();
  x.changed.fill(false);
  for (int64_t row = 0; row < grid.rows(); ++row) {
    // Whole rows are compared fast: of a still image most are all there is to do.
    const ops::Range rows = grid.tile(row, 0).rows;
    if (!differs(input, old, {rows, {0, grid.width}}, x.most)) continue;
    for (int64_t column = 0; column < grid.columns(); ++column) {
      const Rectangle tile = grid.tile(row, column);
      if (differs(input, old, tile, x.most)) x.changed.set(row, column, tile);
    }
  }
}

// Histograms have added up what changed while runs were whole.
void DeltaExecutable::find_changes(std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& x = value(graph().inputs()[i]);
    if (uses_histograms(graph().inputs()[i])) continue;
    if (was_whole_) find_tiles(inputs[i], x.kept, x);
    const Grid& grid = x.changed.grid();
    for (int64_t row = 0; row < grid.rows(); ++row) {
      for (int64_t column = 0; column < grid.columns(); ++column) {
        const Rectangle& tile = x.changed.at(row, column);
        if (tile.pixels() == 0) continue;
        x.changed.set(row, column, difference(inputs[i], x.kept, tile, x.most));
      }
    }
  }
}

Status DeltaExecutable::run_whole(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                  const RunOptions& options) {
  SHOAL_TRY(whole_->run(inputs, outputs, options));
  last_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size() && !policy_.is_waiting(); ++i) {
    if (!last_[i].defined()) last_[i] = Tensor::uninitialized(inputs[i].type());
    std::ranges::copy(inputs[i].bytes(), last_[i].bytes().begin());
  }
  was_whole_ = true;
  std::ranges::fill(computed_, 1);
  count({.macs = macs_}, true);
  return {};
}

Result<double> DeltaExecutable::run_tiles(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                          const RunOptions& options) {
  const bool was_filled = std::exchange(is_filled_, false);  // unless the run is complete
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& x = value(graph().inputs()[i]);
    if (!was_filled) x.changed.fill(true);
    x.changed_in = x.changed.rectangles();
    for (const Rectangle& one : x.changed_in) copy_pixels(inputs[i], one, x.kept);
  }
  Work work;
  std::ranges::fill(computed_, 0);
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < layers_.size(); ++i) {
    SHOAL_TRY(options.interrupted());
    const Node& node = graph().nodes()[i];
    bool changes = spread_changes(node, layers_[i]);
    if (!was_filled || node.op->random) {
      for (const ValueId id : node.outputs) value(id).changed.fill(true);
      changes = true;
    }
    if (!changes) {
      for (const ValueId id : node.outputs) value(id).changed_in.clear();
      continue;
    }
    const Clock::time_point begin = options.trace != nullptr ? Clock::now() : start;
    run_node(i, work);
    for (const ValueId id : node.outputs) value(id).changed_in = value(id).changed.rectangles();
    if (options.trace != nullptr) {
      options.trace->push_back({i, begin - start, Clock::now() - start});
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& kept = value(graph().outputs()[i]).kept;
    if (!outputs[i].defined()) outputs[i] = Tensor::uninitialized(kept.type());
    SHOAL_CHECK(outputs[i].type() == kept.type());
    std::ranges::copy(kept.bytes(), outputs[i].bytes().begin());
  }
  if (!has_thresholds_) set_thresholds();
  is_filled_ = true;
  count(work, !was_filled);
  return work.macs;
}

// Only the first output has a reach; others change as wholes.
bool DeltaExecutable::spread_changes(const Node& node, const Layer& layer) {
  Changes& y = value(node.outputs[0]).changed;
  y.fill(false);
  bool any_input = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (layer.reach[i].rows.empty()) continue;
    const std::vector<Rectangle>& changed = value(node.inputs[i]).changed_in;
    spread(changed, layer.reach[i], y);
    any_input = any_input || !changed.empty();
  }
  if (node.outputs.size() == 1) return y.any();
  for (const ValueId id : node.outputs) value(id).changed.fill(any_input);
  return any_input;
}

void DeltaExecutable::run_node(size_t index, Work& work) {
  const cpu::CpuExecutable::Step& step = whole_->steps()[index];
  Layer& layer = layers_[index];
  Value& y = value(graph().nodes()[index].outputs[0]);
  const Grid& grid = y.changed.grid();
  cpu::KernelArgs args = kept_->args_of(step);
  const bool may_be_close = layer.is_checked && y.most > 0;
  const bool compares = may_be_close && layer.checking.next();
  if (layer.granule > 1 && options_.threshold == 0 && !options_.histograms) {
    y.changed.widen(layer.granule);
  }
  std::vector<Rectangle> where;
  if (layer.kernel != nullptr) where = y.changed.cover(kMostAdded);
  const double share = static_cast<double>(granules_of(where, layer.granule)) /
                       static_cast<double>(granules_of(whole_of(grid), layer.granule));
  const bool by_tiles = layer.kernel != nullptr && share < kMostTiles;
  // Pixels that kept old elements get new ones, too.
  if (!by_tiles && layer.is_checked) {
    y.changed.fill(true);
    where = {whole_of(grid)};
  }
  Tensor fresh;
  if (compares) {
    fresh = borrowed(y.kept.type(), fresh_.get());
    args.outputs = std::span(&fresh, 1);
  }
  by_tiles ? layer.kernel->run_in(args, where) : step.kernel->run(args);
  computed_[index] = by_tiles ? share : 1;
  work.macs += layer.macs * computed_[index];
  if (compares) {
    layer.checking.compared(take_changed_pixels(fresh, where, y, work));
  } else if (may_be_close) {
    for (const Rectangle& one : where) y.changed.add(one);
  }
}

double DeltaExecutable::take_changed_pixels(const Tensor& fresh,
                                            std::span<const Rectangle> computed, Value& y,
                                            Work& work) {
  const auto all = static_cast<double>(pixels_of(computed));
  y.changed.fill(false);
  for (const Rectangle& one : computed) {
    for_each_tile(y.changed.grid(), one, [&](int64_t row, int64_t column, const Rectangle& part) {
      const Rectangle changed = difference(fresh, y.kept, part, y.most);
      y.changed.set(row, column, changed);
      if (changed.pixels() > 0) copy_pixels(fresh, changed, y.kept);
    });
  }
  const double kept = all - static_cast<double>(y.changed.pixels());
  work.compared += all;
  work.kept += kept;
  return kept / all;
}

void DeltaExecutable::set_thresholds() {
  has_thresholds_ = true;
  const auto set = [&](ValueId id, float threshold) {
    value(id).most = threshold * root_mean_square(value(id).kept);
  };
  if (options_.threshold == 0) return;
  for (const ValueId id : graph().inputs()) set(id, options_.of_inputs * options_.threshold);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].is_checked) set(graph().nodes()[i].outputs[0], options_.threshold);
  }
}

void DeltaExecutable::count(const Work& work, bool whole) {
  const std::scoped_lock lock(counters_->mutex);
  DeltaStatistics& all = counters_->statistics;
  ++all.runs;
  all.whole_runs += whole ? 1 : 0;
  all.macs += work.macs;
  all.macs_of_whole += macs_;
  all.kept += work.kept;
  all.compared += work.compared;
}

}  // namespace shoal::delta
