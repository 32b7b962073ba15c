// Layers by clusters. The non-zeros of W are divided into blocks: one of each worker, and the
// outliers that the hub computes (clusters.h). With R_t and C_t the rows and columns of block t,
//
//   y = W x + b:    z_t = W_t x[C_t],    y[r] = b[r] + sum of z_t[r] over all t with r in R_t
//
// One Gather at the hub puts all x[C_t] into one value, and the products read slices of it. A plan
// thus can cut before the slices and after the products, and what travels is x[C_t] and z_t. The
// sums are gathered from all z_t, as many at a time as no row has more of; rows without one get a
// zero.
#include "shoal/plan/sparse/clustered_layers.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/coding/products.h"

namespace shoal::plan {
namespace {

constexpr size_t kBias = 2;  // input

// A product with a constant matrix.
struct Product {
  size_t outputs = 0, inputs = 0;
  bool turned = false;        // the constant is [inputs, outputs]
  std::vector<float> weight;  // [outputs, inputs]
};

bool is_constant(const Graph& graph, ValueId id, size_t rank) {
  return id != kNoValue && graph[id].constant && graph[id].type.dtype == DType::kF32 &&
         graph[id].type.shape.rank() == rank;
}

std::vector<float> turned(std::span<const float> weight, size_t rows) {
  const size_t columns = weight.size() / rows;
  std::vector<float> result(weight.size());
  for (size_t i = 0; i < weight.size(); ++i) result[i % columns * rows + i / columns] = weight[i];
  return result;
}

Result<Product> product_of(const Graph& graph, const Node& node) {
  const Status no_layer(Code::kUnsupported, place_of(graph, node) + " is no sparse layer");
  const auto along = ops::contraction_of(node, graph.operands(node.inputs));
  if (!along || !is_constant(graph, node.inputs[1], 2)) return no_layer;
  if (along->axis + 1 != graph[node.inputs[0]].type.shape.rank()) return no_layer;
  const bool has_bias = node.inputs.size() > kBias && node.inputs[kBias] != kNoValue;
  if (has_bias && !graph[node.inputs[kBias]].constant) return no_layer;
  const Tensor& constant = *graph[node.inputs[1]].constant;
  const auto weight = constant.data<float>();
  const bool is_turned = along->weight_axis == 0;
  const auto rows = static_cast<size_t>(constant.shape()[0]);
  const auto columns = static_cast<size_t>(constant.shape()[1]);
  return Product{.outputs = is_turned ? columns : rows,
                 .inputs = is_turned ? rows : columns,
                 .turned = is_turned,
                 .weight = is_turned ? turned(weight, rows)
                                     : std::vector<float>(weight.begin(), weight.end())};
}

// A part of the non-zeros. Rows and columns are those of the weight, ascending.
struct Block {
  std::vector<size_t> rows, columns;
  std::vector<float> weight;  // [rows, columns]
};

// Calls f(row, column, block) for each non-zero; rows and columns count live ones.
template <class F>
void for_each_non_zero(const SparsePattern& pattern, const Clusters& clusters, size_t parts,
                       const F& f) {
  const bool inputs = clusters.travelling == Travelling::kInputs;
  const size_t lines = inputs ? pattern.columns.size() : pattern.rows.size();
  std::vector<bool> on_hub(parts * lines);
  for (const OutlierUnit& unit : clusters.on_hub) on_hub[unit.part * lines + unit.line] = true;
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    for (uint32_t c : pattern.row(r)) {
      const size_t part = inputs ? clusters.row_parts[r] : clusters.column_parts[c];
      f(r, c, on_hub[part * lines + (inputs ? c : r)] ? parts : part);
    }
  }
}

// Where a line of the pattern is in each block: [block][line], and how many each block has.
class Places {
 public:
  Places(size_t blocks, size_t lines) : lines_(lines), at_(blocks * lines, 0) {}

  void add(size_t block, size_t line) { at_[block * lines_ + line] = 1; }
  size_t at(size_t block, size_t line) const { return at_[block * lines_ + line]; }

  // Numbers the lines of a block, and lists them.
  std::vector<size_t> number(size_t block, const std::vector<size_t>& names) {
    std::vector<size_t> found;
    for (size_t line = 0; line < lines_; ++line) {
      size_t& place = at_[block * lines_ + line];
      if (place == 0) continue;
      place = found.size();
      found.push_back(names[line]);
    }
    return found;
  }

 private:
  const size_t lines_;
  std::vector<size_t> at_;
};

// One block of each part, and at last the outliers of the hub, which may be empty. A part has all
// lines that belong to it, as traffic_of() counts them.
std::vector<Block> blocks_of(const Product& product, const SparsePattern& pattern,
                             const Clusters& clusters, size_t parts) {
  Places rows(parts + 1, pattern.rows.size()), columns(parts + 1, pattern.columns.size());
  for (size_t r = 0; r < pattern.rows.size(); ++r) rows.add(clusters.row_parts[r], r);
  for (size_t c = 0; c < pattern.columns.size(); ++c) columns.add(clusters.column_parts[c], c);
  for_each_non_zero(pattern, clusters, parts, [&](size_t r, size_t c, size_t block) {
    rows.add(block, r);
    columns.add(block, c);
  });
  std::vector<Block> blocks(parts + 1);
  for (size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].rows = rows.number(b, pattern.rows);
    blocks[b].columns = columns.number(b, pattern.columns);
    blocks[b].weight.resize(blocks[b].rows.size() * blocks[b].columns.size(), 0);
  }
  for_each_non_zero(pattern, clusters, parts, [&](size_t r, size_t c, size_t b) {
    blocks[b].weight[rows.at(b, r) * blocks[b].columns.size() + columns.at(b, c)] =
        product.weight[pattern.rows[r] * product.inputs + pattern.columns[c]];
  });
  return blocks;
}

Tensor indices(const std::vector<size_t>& numbers) {
  const std::vector<int64_t> list(numbers.begin(), numbers.end());
  return Tensor::of<int64_t>({std::ssize(list)}, list);
}

// Writes the steps of one layer into the new graph.
class LayerWriter {
 public:
  LayerWriter(passes::Rewriter& rewriter, const Node& node, const Product& product)
      : rewriter_(rewriter),
        to_(rewriter.to()),
        node_(node),
        product_(product),
        name_(rewriter.from()[node.outputs[0]].name),
        shape_(rewriter.from()[node.outputs[0]].type.shape) {}

  // REQUIRES: the blocks are not empty; outliers, if there are any, are the last one.
  Status write(const std::vector<Block>& blocks, bool outliers) {
    SHOAL_ASSIGN(const ValueId all_inputs, gather_inputs(blocks, outliers));
    std::vector<ValueId> weights;
    for (const Block& block : blocks) weights.push_back(weight_of(block));
    // A node of constants alone, so that a plan cannot end a segment before the last product
    // (search/choices.cc).
    SHOAL_ASSIGN(weights.back(), to_.add(ops::identity, {weights.back()}));
    SHOAL_ASSIGN(const auto inputs, slice_inputs(blocks, outliers, all_inputs));
    std::vector<ValueId> sums;
    for (size_t b = 0; b < blocks.size(); ++b) {
      SHOAL_ASSIGN(const ValueId sum, to_.add(*node_.op, {inputs[b], weights[b]}, node_.attributes,
                                              name_ + ".cluster"));
      sums.push_back(sum);
    }
    Shape slice = shape_;
    slice[axis()] = 1;
    sums.push_back(to_.add_constant(name_ + ".zero", Tensor({DType::kF32, slice})));
    SHOAL_ASSIGN(const ValueId all, to_.add(ops::concat, std::move(sums), along(shape_.rank())));
    SHOAL_ASSIGN(const ValueId y, write_sums(blocks, all));
    rewriter_.replace(node_.outputs[0], y);
    return {};
  }

 private:
  size_t axis() const { return shape_.rank() - 1; }
  static Attributes along(size_t rank) { return {{"axis", static_cast<int64_t>(rank) - 1}}; }

  Result<ValueId> gather(ValueId from, const std::vector<size_t>& numbers, const char* role) {
    const ValueId list = to_.add_constant(name_ + role + ".indices", indices(numbers));
    return to_.add(ops::gather, {from, list}, along(to_[from].type.shape.rank()), name_ + role);
  }

  ValueId weight_of(const Block& block) {
    const auto rows = std::ssize(block.rows), columns = std::ssize(block.columns);
    const Shape shape = product_.turned ? Shape{columns, rows} : Shape{rows, columns};
    const std::vector<float> elements =
        product_.turned ? turned(block.weight, block.rows.size()) : block.weight;
    return to_.add_constant(name_ + ".weight", Tensor::of<float>(shape, elements));
  }

  // Inputs of the outliers come first, beside those of the hub's block, so that together they are
  // one box.
  static std::vector<size_t> order_of_inputs(const std::vector<Block>& blocks, bool outliers) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (outliers) std::rotate(order.begin(), order.end() - 1, order.end());
    return order;
  }

  Result<ValueId> gather_inputs(const std::vector<Block>& blocks, bool outliers) {
    std::vector<size_t> columns;
    for (size_t b : order_of_inputs(blocks, outliers)) {
      columns.insert(columns.end(), blocks[b].columns.begin(), blocks[b].columns.end());
    }
    return gather(rewriter_.map(node_.inputs[0]), columns, ".inputs");
  }

  // The inputs of each block.
  Result<std::vector<ValueId>> slice_inputs(const std::vector<Block>& blocks, bool outliers,
                                            ValueId all) {
    std::vector<ValueId> inputs(blocks.size(), kNoValue);
    int64_t begin = 0;
    for (size_t b : order_of_inputs(blocks, outliers)) {
      const int64_t end = begin + std::ssize(blocks[b].columns);
      const size_t last = to_[all].type.shape.rank() - 1;
      SHOAL_ASSIGN(inputs[b], append_slice(to_, all, last, begin, end));
      begin = end;
    }
    return inputs;
  }

  // `all` has the sums of the blocks one after the other, and a zero.
  Result<ValueId> write_sums(const std::vector<Block>& blocks, ValueId all) {
    std::vector<std::vector<size_t>> places(product_.outputs);  // by row, in `all`
    size_t begin = 0;
    for (const Block& block : blocks) {
      for (size_t r : block.rows) places[r].push_back(begin++);
    }
    size_t most = 0;
    for (const auto& of_row : places) most = std::max(most, of_row.size());
    std::vector<ValueId> terms;
    for (size_t i = 0; i < most; ++i) {
      std::vector<size_t> numbers;
      for (const auto& of_row : places) numbers.push_back(i < of_row.size() ? of_row[i] : begin);
      SHOAL_ASSIGN(const ValueId term, gather(all, numbers, ".term"));
      terms.push_back(term);
    }
    if (node_.inputs.size() > kBias && node_.inputs[kBias] != kNoValue) terms.push_back(bias());
    if (terms.size() == 1) return terms[0];
    return to_.add(ops::sum, std::move(terms));
  }

  ValueId bias() {
    Tensor scaled = rewriter_.from()[node_.inputs[kBias]].constant->clone();
    for (float& x : scaled.data<float>()) x *= node_.real("beta", 1);
    return to_.add_constant(name_ + ".bias", std::move(scaled));
  }

  passes::Rewriter& rewriter_;
  Graph& to_;
  const Node& node_;
  const Product& product_;
  const std::string name_;
  const Shape shape_;  // of the output
};

// Returns the bytes of the dense split.
Result<int64_t> write_layer(passes::Rewriter& rewriter, const Node& node,
                            const ClusteredLayer& layer) {
  SHOAL_ASSIGN(const Product product, product_of(rewriter.from(), node));
  const SparsePattern pattern = pattern_of(product.weight, product.outputs);
  const ClusterWorkers workers = workers_of(layer);
  SHOAL_ASSIGN(const Clusters clusters, make_clusters(pattern, workers, kClusterSeed));
  std::vector<Block> blocks = blocks_of(product, pattern, clusters, workers.speeds.size());
  const bool outliers = !blocks.back().rows.empty();
  if (!outliers) blocks.pop_back();
  for (const Block& block : blocks) {
    if (!block.weight.empty()) continue;
    return Status(Code::kUnsupported, place_of(rewriter.from(), node) + " has too few clusters");
  }
  SHOAL_TRY(LayerWriter(rewriter, node, product).write(blocks, outliers));
  const int64_t vectors =
      rewriter.from()[node.outputs[0]].type.shape.count() / static_cast<int64_t>(product.outputs);
  const size_t values = traffic_of(pattern, clusters, workers).dense;
  return vectors * static_cast<int64_t>(values * sizeof(float));
}

}  // namespace

ClusterWorkers workers_of(const ClusteredLayer& layer) {
  return {
      .speeds = layer.speeds, .seconds_per_value = layer.seconds_per_value, .first_is_hub = true};
}

bool can_be_clustered(const Graph& graph, const Node& node) {
  constexpr int64_t kSmallest = 1 << 12;  // a smaller matrix takes less time than a message
  constexpr double kDensest = 0.6;
  if (node.inputs.size() < 2 || !is_constant(graph, node.inputs[1], 2)) return false;
  const Tensor& weight = *graph[node.inputs[1]].constant;
  if (weight.count() < kSmallest || sampled_density(weight.data<float>()) > kDensest) return false;
  const auto alone = graph_of(graph, node);
  if (!alone.ok()) return false;
  const auto expanded = expand_products(*alone, {0});
  if (!expanded.ok()) return false;
  const Node& product = expanded->graph.nodes()[expanded->products.at(0)];
  return product_of(expanded->graph, product).ok();
}

Result<ClusteredGraph> with_clusters(const Graph& graph,
                                     const std::vector<ClusteredLayer>& layers) {
  std::vector<size_t> nodes;
  for (const ClusteredLayer& layer : layers) nodes.push_back(layer.node);
  SHOAL_ASSIGN(const ExpandedProducts expanded, expand_products(graph, nodes));
  std::map<size_t, const ClusteredLayer*> products;
  for (const ClusteredLayer& layer : layers) {
    products.emplace(expanded.products.at(layer.node), &layer);
  }
  passes::Rewriter rewriter(expanded.graph);
  ClusteredGraph clustered;
  for (size_t i = 0; i < expanded.graph.nodes().size(); ++i) {
    const Node& node = expanded.graph.nodes()[i];
    const auto layer = products.find(i);
    if (layer == products.end()) {
      SHOAL_TRY(rewriter.copy(node));
      continue;
    }
    SHOAL_ASSIGN(const int64_t bytes, write_layer(rewriter, node, *layer->second));
    clustered.dense_bytes += bytes;
  }
  SHOAL_ASSIGN(clustered.graph, rewriter.finish());
  return clustered;
}

}  // namespace shoal::plan
