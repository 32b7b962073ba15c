// A run compares its inputs with those kept, tile by tile, and goes through the nodes in order. A
// node none of whose inputs changed is skipped. Of a node whose kernel can compute rectangles, the
// tiles that read a changed tile (reach.h) are computed; other kernels compute their whole output,
// which is right as well: all that they read is kept.
#include "shoal/delta/delta_executable.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "shoal/delta/plane.h"

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

// Whether a tile reads several ones, so that more tiles change from layer to layer.
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
    value(id).changed = TileMask(uses_histograms(id) ? blocks_of(shape, options_.histograms->side)
                                                     : tiles_of(shape, options_.tile, 1));
  }
  for (size_t i = 0; i < graph().nodes().size(); ++i) {
    add_layer(graph().nodes()[i], *whole_->steps()[i].kernel);
  }
}

void DeltaExecutable::add_layer(const Node& node, const cpu::Kernel& kernel) {
  const std::vector<TensorType> types = graph().types(node.outputs);
  const auto* by_tiles =
      types.size() == 1 ? dynamic_cast<const cpu::RectangleKernel*>(&kernel) : nullptr;
  const int64_t granule = by_tiles != nullptr ? by_tiles->granule() : 1;
  for (size_t i = 0; i < types.size(); ++i) {
    value(node.outputs[i]).changed = TileMask(tiles_of(types[i].shape, options_.tile, granule));
  }
  std::vector<Grid> grids;
  for (const ValueId id : node.inputs) {
    grids.push_back(id == kNoValue ? Grid{} : value(id).changed.grid());
  }
  Layer layer{.reach = reach_of(graph(), node, grids, value(node.outputs[0]).changed.grid()),
              .kernel = by_tiles,
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
    SHOAL_ASSIGN(auto old, cpu::make_frame(largest, 0));
    old_ = std::move(old->arena);
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
  bool whole = false;
  if (!is_filled_ && options_.histograms) {
    histograms_.assign(inputs.size(), BlockHistograms(*options_.histograms));
    compare(inputs, {});
  }
  if (is_filled_) {
    const double changed = compare(inputs, was_whole_ ? last_ : std::vector<Tensor>());
    whole = !options_.histograms && policy_.is_whole(changed);
  }
  if (whole) {
    SHOAL_TRY(run_whole(inputs, outputs, options));
    policy_.computed_whole(steady_ms() - begin);
    return {};
  }
  if (is_filled_ && was_whole_) compare(inputs, {});
  was_whole_ = false;
  SHOAL_ASSIGN(const double macs, run_tiles(inputs, outputs, options));
  policy_.computed_tiles(macs_ > 0 ? macs / macs_ : 0, steady_ms() - begin);
  return {};
}

double DeltaExecutable::compare(std::span<const Tensor> inputs, std::span<const Tensor> with) {
  int64_t changed = 0, all = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& x = value(graph().inputs()[i]);
    const Tensor& old = with.empty() ? x.kept : with[i];
    const Grid& grid = x.changed.grid();
    if (uses_histograms(graph().inputs()[i])) {
      x.changed =
          histograms_[i].update(inputs[i], options_.now_ms ? options_.now_ms() : steady_ms());
    } else {
      for (int64_t row = 0; row < grid.rows(); ++row) {
        for (int64_t column = 0; column < grid.columns(); ++column) {
          x.changed.set(row, column, differs(inputs[i], old, grid.tile(row, column), x.most));
        }
      }
    }
    changed += x.changed.pixels();
    all += grid.pixels();
  }
  return all == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(all);
}

Status DeltaExecutable::run_whole(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                  const RunOptions& options) {
  SHOAL_TRY(whole_->run(inputs, outputs, options));
  last_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!last_[i].defined()) last_[i] = Tensor::uninitialized(inputs[i].type());
    std::ranges::copy(inputs[i].bytes(), last_[i].bytes().begin());
  }
  was_whole_ = true;
  count({.macs = macs_}, true);
  return {};
}

Result<double> DeltaExecutable::run_tiles(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                          const RunOptions& options) {
  const bool was_filled = std::exchange(is_filled_, false);  // unless the run is complete
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value& x = value(graph().inputs()[i]);
    if (!was_filled) x.changed.fill(true);
    for (const Rectangle& one : x.changed.rectangles()) copy_pixels(inputs[i], one, x.kept);
  }
  Work work;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < layers_.size(); ++i) {
    SHOAL_TRY(options.interrupted());
    const Node& node = graph().nodes()[i];
    const bool changes = spread_changes(node, layers_[i]);
    if (!was_filled || node.op->random) {
      for (const ValueId id : node.outputs) value(id).changed.fill(true);
    } else if (!changes) {
      continue;
    }
    const Clock::time_point begin = options.trace != nullptr ? Clock::now() : start;
    run_node(i, work);
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
  TileMask& y = value(node.outputs[0]).changed;
  y.fill(false);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!layer.reach[i].rows.empty()) spread(value(node.inputs[i]).changed, layer.reach[i], y);
  }
  bool any = y.any();
  if (node.outputs.size() > 1) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      any = any || (!layer.reach[i].rows.empty() && value(node.inputs[i]).changed.any());
    }
    for (const ValueId id : node.outputs) value(id).changed.fill(any);
  }
  return any;
}

void DeltaExecutable::run_node(size_t index, Work& work) {
  const cpu::CpuExecutable::Step& step = whole_->steps()[index];
  const Layer& layer = layers_[index];
  Value& y = value(graph().nodes()[index].outputs[0]);
  const cpu::KernelArgs args = kept_->args_of(step);
  const bool compares = layer.is_checked && y.most > 0;
  const double share = y.changed.share();
  const bool by_tiles = layer.kernel != nullptr && share < kMostTiles;
  // Tiles that kept old elements get new ones, too.
  if (!by_tiles && layer.is_checked) y.changed.fill(true);
  const std::vector<Rectangle> where =
      compares || by_tiles ? y.changed.rectangles() : std::vector<Rectangle>();
  Tensor old;
  if (compares) {
    old = borrowed(y.kept.type(), old_.get());
    for (const Rectangle& one : where) copy_pixels(y.kept, one, old);
  }
  by_tiles ? layer.kernel->run_in(args, where) : step.kernel->run(args);
  work.macs += layer.macs * (by_tiles ? share : 1);
  if (compares) keep_close_tiles(y, old, work);
}

void DeltaExecutable::keep_close_tiles(Value& y, const Tensor& old, Work& work) {
  const Grid& grid = y.changed.grid();
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      if (!y.changed.at(row, column)) continue;
      const Rectangle tile = grid.tile(row, column);
      ++work.compared;
      if (differs(y.kept, old, tile, y.most)) continue;
      ++work.kept;
      copy_pixels(old, tile, y.kept);
      y.changed.set(row, column, false);
    }
  }
}

void DeltaExecutable::set_thresholds() {
  has_thresholds_ = true;
  const auto set = [&](ValueId id) {
    value(id).most = options_.threshold * root_mean_square(value(id).kept);
  };
  if (options_.threshold == 0) return;
  std::ranges::for_each(graph().inputs(), set);
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].is_checked) set(graph().nodes()[i].outputs[0]);
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
