// A matrix product a b streams the rows of a past the columns of b, so that weights on the right
// are stationary. A convolution streams the patches of each image (im2col) past the filters, group
// by group. Zero points are subtracted before elements enter the array.
#include "shoal/engine/systolic/systolic_device.h"

#include <mutex>

#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/product/matrix_product.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/coding/products.h"

namespace shoal::systolic {
namespace {

// The scale is computed in the operator's own order. REQUIRES: a has one scale.
Result<ValueId> append_integer_matmul(std::span<const ValueId> inputs, Graph& graph) {
  SHOAL_ASSIGN(const ValueId sums,
               graph.add(ops::mat_mul_integer, {inputs[0], inputs[3], inputs[2], inputs[5]}));
  SHOAL_ASSIGN(ValueId scale, graph.add(ops::mul, {inputs[1], inputs[4]}));
  SHOAL_ASSIGN(scale, graph.add(ops::div, {scale, inputs[6]}));
  return ops::append_requantize(sums, scale, inputs[7], graph);
}

Result<ValueId> append_lowered(const Node& node, std::vector<ValueId> inputs, Graph& graph) {
  if (node.op == &ops::q_linear_mat_mul) return append_integer_matmul(inputs, graph);
  return plan::append_lowered(node, std::move(inputs), graph);
}

bool is_candidate(const Graph& graph, const Node& node) {
  const auto& input = [&](size_t i) -> const Value& { return graph[node.inputs[i]]; };
  if (node.op == &ops::q_linear_mat_mul) return input(1).type.shape.count() == 1;
  if (node.op == &ops::q_gemm) {  // weights are transposed here and now
    return node.integer("transB", 0) == 0 || input(3).constant.has_value();
  }
  return node.op == &ops::q_linear_conv || node.op == &ops::fused_q_linear_conv;
}

// Whether the new nodes take the parameters' shapes, tried on a separate graph.
bool can_lower(const Graph& graph, const Node& node) {
  if (!is_candidate(graph, node)) return false;
  Graph trial;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    inputs.push_back(id == kNoValue       ? kNoValue
                     : graph[id].constant ? trial.add_constant("x", *graph[id].constant)
                                          : trial.add_input("x", graph[id].type));
  }
  const Result<ValueId> y = append_lowered(node, inputs, trial);
  return y.ok() && trial[*y].type == graph[node.outputs[0]].type;
}

}  // namespace

// Fused operators become QLinearConv first, hence the rounds: each removes a layer of fusion.
Result<Graph> lower_quantized(const Graph& graph) {
  Graph lowered = graph;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    passes::Rewriter rewriter(lowered);
    for (const Node& node : lowered.nodes()) {
      if (!can_lower(lowered, node)) {
        SHOAL_TRY(rewriter.copy(node));
        continue;
      }
      SHOAL_ASSIGN(const ValueId y, append_lowered(node, rewriter.map(node.inputs), rewriter.to()));
      rewriter.replace(node.outputs[0], y);
      has_changed = true;
    }
    SHOAL_ASSIGN(Graph next, rewriter.finish());
    lowered = std::move(next);
  }
  return lowered;
}

namespace {

using Clock = std::chrono::steady_clock;
using Differences = std::vector<int16_t>;

constexpr size_t kStream = 0, kStationary = 1, kStreamZero = 2, kStationaryZero = 3;
constexpr int64_t kMostMacs = int64_t{1} << 40;  // hours; sizes below it do not overflow

// The array of a device, which all its executables share.
struct SharedArray {
  explicit SharedArray(const ArrayOptions& options) : array(options) {}

  // Returns the first of `operands` consecutive names of stationary operands.
  uint64_t reserve(int64_t operands) {
    const std::scoped_lock lock(mutex);
    return std::exchange(next_operand, next_operand + static_cast<uint64_t>(operands));
  }

  std::mutex mutex;
  Array array;
  uint64_t next_operand = 1;
};

// The elements minus their zero points. `from`, the shape of the zero points, broadcasts to
// `shape`.
Differences widened(const Tensor& bytes, const Shape& shape, const Tensor& zeros,
                    const Shape& from) {
  Differences wide(static_cast<size_t>(bytes.count()));
  const Tensor zero =
      zeros.defined() ? ops::converted(zeros, DType::kI32) : Tensor({DType::kI32, Shape()});
  const auto subtract = [&]<class T>() {
    const auto elements = bytes.data<T>();
    ops::for_each_run(shape,
                      std::array{ops::strides_of(shape), ops::broadcast_strides(from, shape)},
                      [&](auto at, auto step, int64_t n) {
                        for (int64_t i = 0; i < n; ++i) {
                          const auto e = static_cast<size_t>(at[0] + i);
                          const auto z = static_cast<size_t>(at[1] + i * step[1]);
                          wide[e] = static_cast<int16_t>(elements[e] - zero.data<int32_t>()[z]);
                        }
                      });
  };
  visit<ops::Bytes>(bytes.dtype(), subtract);
  return wide;
}

// The shape under which a list broadcasts along the first of `rank` axes.
Shape along_first_axis(const Shape& list, size_t rank) {
  if (list.rank() != 1 || list[0] == 1) return list.count() == 1 ? Shape() : list;
  Shape shape = Shape::filled(rank, 1);
  shape[0] = list[0];
  return shape;
}

// Stationary operands as the array takes them, one [M,K] after the other, under these names.
struct Stationary {
  Differences elements;
  uint64_t first = 0;
};

// One of the two products, on tensors that its operator has accepted.
class Product {
 public:
  virtual ~Product() = default;
  virtual int64_t operands() const = 0;  // that are stationary
  virtual Differences widen_stationary(const Tensor& operand, const Tensor& zeros) const = 0;
  virtual void run(std::span<const Tensor> inputs, const Stationary& stationary, Array& array,
                   Tensor& output) const = 0;
};

class MatMulProduct final : public Product {
 public:
  MatMulProduct(const Shape& a, const Shape& b) : sizes_(ops::matmul_sizes(a, b)) {}

  int64_t operands() const override { return sizes_.b_shape.count(0, sizes_.b_shape.rank() - 2); }

  // The columns of every matrix become rows.
  Differences widen_stationary(const Tensor& b, const Tensor& zeros) const override {
    const Differences wide = widened(b, sizes_.b_shape, zeros, zeros.shape());
    Differences transposed(wide.size());
    const auto n = static_cast<size_t>(sizes_.n), k = static_cast<size_t>(sizes_.k);
    for (size_t i = 0; i < wide.size(); ++i) {
      const size_t matrix = i / (n * k), row = i / n % k, column = i % n;
      transposed[(matrix * n + column) * k + row] = wide[i];
    }
    return transposed;
  }

  void run(std::span<const Tensor> inputs, const Stationary& b, Array& array,
           Tensor& output) const override {
    const Tensor& zeros = inputs[kStreamZero];
    const Differences a =
        widened(inputs[kStream], sizes_.a_shape, zeros, along_first_axis(zeros.shape(), 2));
    const auto part = [](auto all, int64_t index, int64_t count) {
      return all.subspan(static_cast<size_t>(index * count), static_cast<size_t>(count));
    };
    sizes_.for_each_matrix([&](int64_t a_index, int64_t b_index, int64_t y_index) {
      array.multiply(b.first + static_cast<uint64_t>(b_index), {sizes_.n, sizes_.k, sizes_.m},
                     part(std::span(b.elements), b_index, sizes_.k * sizes_.n),
                     part(std::span(a), a_index, sizes_.m * sizes_.k),
                     part(output.data<int32_t>(), y_index, sizes_.m * sizes_.n));
    });
  }

 private:
  const ops::MatMulSizes sizes_;
};

class ConvProduct final : public Product {
 public:
  ConvProduct(const Node& node, const Shape& x, const Shape& w)
      : x_(x), w_(w), conv_(ops::convolution_of(node, x, w)) {}

  int64_t operands() const override { return conv_.groups; }

  Differences widen_stationary(const Tensor& w, const Tensor& zeros) const override {
    return widened(w, w_, zeros, along_first_axis(zeros.shape(), w_.rank()));
  }

  void run(std::span<const Tensor> inputs, const Stationary& w, Array& array,
           Tensor& output) const override {
    const Differences x = widened(inputs[kStream], x_, inputs[kStreamZero], Shape());
    const int64_t k = conv_.in_channels * conv_.taps(), l = conv_.output_plane();
    const int64_t m = conv_.out_channels;
    std::vector<int32_t> sums(static_cast<size_t>(l * m));
    for (int64_t i = 0; i < conv_.batch * conv_.groups; ++i) {
      const int64_t group = i % conv_.groups;
      std::ranges::fill(sums, 0);
      array.multiply(w.first + static_cast<uint64_t>(group), {m, k, l},
                     std::span(w.elements).subspan(static_cast<size_t>(group * m * k)),
                     patches(x.data() + i * conv_.in_channels * conv_.input_plane()), sums);
      int32_t* const to = output.data<int32_t>().data() + i * m * l;
      for (int64_t e = 0; e < l * m; ++e) to[e % m * l + e / m] = sums[static_cast<size_t>(e)];
    }
  }

 private:
  // The elements under the filter at every position of the output, [positions, channels, taps].
  Differences patches(const int16_t* x) const {
    const auto& [depth, row, column] = conv_.window.axes;
    Differences all;
    all.reserve(static_cast<size_t>(conv_.output_plane() * conv_.in_channels * conv_.taps()));
    for (int64_t position = 0; position < conv_.output_plane(); ++position) {
      const int64_t d = position / column.output / row.output;
      const int64_t h = position / column.output % row.output, w = position % column.output;
      for (int64_t c = 0; c < conv_.in_channels; ++c) {
        append_patch(x + c * conv_.input_plane(), {d, h, w}, all);
      }
    }
    return all;
  }

  // Padding is zero, because zero points are subtracted.
  void append_patch(const int16_t* plane, std::array<int64_t, 3> output, Differences& all) const {
    const auto& [depth, row, column] = conv_.window.axes;
    const auto is_inside = [](const ops::WindowAxis& axis, int64_t at) {
      return at >= 0 && at < axis.input;
    };
    for (int64_t kd = 0; kd < depth.kernel; ++kd) {
      for (int64_t kh = 0; kh < row.kernel; ++kh) {
        for (int64_t kw = 0; kw < column.kernel; ++kw) {
          const int64_t d = depth.position(output[0], kd), h = row.position(output[1], kh);
          const int64_t w = column.position(output[2], kw);
          const bool inside = is_inside(depth, d) && is_inside(row, h) && is_inside(column, w);
          all.push_back(inside ? plane[(d * row.input + h) * column.input + w] : int16_t{0});
        }
      }
    }
  }

  const Shape x_, w_;
  const ops::Convolution conv_;
};

std::unique_ptr<Product> product_of(const Graph& graph, const Node& node) {
  const Shape& x = graph[node.inputs[kStream]].type.shape;
  const Shape& w = graph[node.inputs[kStationary]].type.shape;
  if (node.op == &ops::conv_integer) return std::make_unique<ConvProduct>(node, x, w);
  return std::make_unique<MatMulProduct>(x, w);
}

class ArrayExecutable final : public Executable {
 public:
  ArrayExecutable(const Graph& graph, std::shared_ptr<SharedArray> shared)
      : graph_(graph), shared_(std::move(shared)), constants_(graph.value_count()) {
    for (size_t i = 0; i < constants_.size(); ++i) {
      const Value& value = graph_[static_cast<ValueId>(i)];
      if (value.constant) constants_[i] = *value.constant;
    }
    for (const Node& node : graph_.nodes()) steps_.push_back(prepare(node));
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    const auto start = Clock::now();
    std::vector<Tensor> values = constants_;
    for (size_t i = 0; i < inputs.size(); ++i) at(values, graph_.inputs()[i]) = inputs[i];
    for (size_t n = 0; n < steps_.size(); ++n) {
      SHOAL_TRY(options.interrupted());
      const auto begin = Clock::now();
      const Node& node = graph_.nodes()[n];
      Tensor y(graph_[node.outputs[0]].type);
      if (y.count() > 0) run_step(steps_[n], inputs_of(node, values), y);
      at(values, node.outputs[0]) = std::move(y);
      if (options.trace != nullptr) {
        options.trace->push_back({n, begin - start, Clock::now() - start});
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = at(values, graph_.outputs()[i]).clone();
    }
    return {};
  }

  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override {
    MemoryUse use;
    for (const Node& node : graph_.nodes()) {
      use.planned += static_cast<int64_t>(graph_[node.outputs[0]].type.bytes());
    }
    return {use.planned, use.planned};  // all are kept to the end
  }
  const KernelInfo& kernel_of(size_t) const override {
    static const KernelInfo info{"systolic"};
    return info;
  }

 private:
  struct Step {
    std::unique_ptr<Product> product;
    std::optional<Stationary> stationary;  // of constant weights
  };

  static Tensor& at(std::vector<Tensor>& values, ValueId id) {
    return values[static_cast<size_t>(id)];
  }

  // All four; those that are not given are undefined.
  static std::vector<Tensor> inputs_of(const Node& node, std::vector<Tensor>& values) {
    std::vector<Tensor> inputs(4);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoValue) inputs[i] = at(values, node.inputs[i]);
    }
    return inputs;
  }

  Stationary stationary_of(const Product& product, std::span<const Tensor> inputs) const {
    return {product.widen_stationary(inputs[kStationary], inputs[kStationaryZero]),
            shared_->reserve(product.operands())};
  }

  Step prepare(const Node& node) {
    Step step{product_of(graph_, node), {}};
    const auto is_constant = [&](size_t i) {
      return i >= node.inputs.size() || node.inputs[i] == kNoValue ||
             graph_[node.inputs[i]].constant.has_value();
    };
    if (is_constant(kStationary) && is_constant(kStationaryZero)) {
      step.stationary = stationary_of(*step.product, inputs_of(node, constants_));
    }
    return step;
  }

  void run_step(const Step& step, std::span<const Tensor> inputs, Tensor& output) const {
    const auto run_with = [&](const Stationary& stationary) {
      const std::scoped_lock lock(shared_->mutex);
      step.product->run(inputs, stationary, shared_->array, output);
    };
    if (step.stationary) return run_with(*step.stationary);
    run_with(stationary_of(*step.product, inputs));
  }

  const Graph graph_;
  const std::shared_ptr<SharedArray> shared_;
  std::vector<Tensor> constants_;  // by value; undefined if it is none
  std::vector<Step> steps_;        // by node
};

// Integer products only; a hybrid device brings the others to the fallback.
class ArrayDevice final : public Device {
 public:
  explicit ArrayDevice(std::shared_ptr<SharedArray> shared) : shared_(std::move(shared)) {}

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return (node.op == &ops::mat_mul_integer || node.op == &ops::conv_integer) &&
           macs(graph, node) <= kMostMacs;
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    return std::unique_ptr<Executable>(std::make_unique<ArrayExecutable>(graph, shared_));
  }

 private:
  const DeviceInfo info_{.name = "array"};
  const std::shared_ptr<SharedArray> shared_;
};

class LoweringDevice final : public SystolicDevice {
 public:
  LoweringDevice(const ArrayOptions& options, std::unique_ptr<Device> fallback)
      : shared_(std::make_shared<SharedArray>(options)),
        hybrid_(make_hybrid_device(std::make_unique<ArrayDevice>(shared_), std::move(fallback))),
        info_(hybrid_->info()) {
    info_.name = "systolic";
  }

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return hybrid_->supports(graph, node);
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, lower_quantized(graph));
    return hybrid_->compile(lowered);
  }
  Counts counts() const override {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->array.counts();
  }

 private:
  const std::shared_ptr<SharedArray> shared_;
  const std::unique_ptr<Device> hybrid_;
  DeviceInfo info_;
};

Result<std::unique_ptr<Device>> make_by_name(std::string_view argument,
                                             const DeviceOptions& options) {
  if (!argument.empty()) return invalid("the systolic device takes no argument");
  SHOAL_ASSIGN(auto device, make_systolic_device({}, make_cpu_device(options.cpu)));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace

Result<std::unique_ptr<SystolicDevice>> make_systolic_device(const ArrayOptions& options,
                                                             std::unique_ptr<Device> fallback) {
  SHOAL_TRY(check(options));
  return std::unique_ptr<SystolicDevice>(
      std::make_unique<LoweringDevice>(options, std::move(fallback)));
}

void register_systolic_device() {
  register_device({.name = "systolic",
                   .summary = "a model of a systolic array for integer products, beside the CPU",
                   .is_local = true,
                   .make = make_by_name});
}

}  // namespace shoal::systolic
