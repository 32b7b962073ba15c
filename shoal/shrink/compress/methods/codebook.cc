// codebook: weights as 8-bit codes and a table of at most 256 numbers per tensor (weight sharing,
// Han et al. 2016), in ONNX as Gather(codebook, Cast(codes)). The file has a quarter of the bytes.
// Time and memory of a run are unchanged: weights are looked up once, on loading. Training learns
// the codebook.
//
// Lloyd's algorithm minimises the sum of squared errors: in one dimension, clusters are runs of the
// sorted weights, cut half-way between means, so a round takes one search per cut.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "shoal/model/graph/parameter.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {
namespace {

constexpr size_t kEntries = 256;   // that a byte can tell apart
constexpr int64_t kFewest = 1024;  // weights for which a table is worth its bytes
constexpr int kRounds = 30;

// Initial means, as dense as the cube root of the weights' density, which is best for many means
// (Panter, Dite 1951). From quantiles, after 30 rounds of Lloyd's algorithm, the squared error of
// normal weights was six times that of a grid.
void begin_means(std::span<const float> sorted, std::span<double> means) {
  constexpr size_t kBins = 512;
  const double low = double{sorted.front()}, width = (double{sorted.back()} - low) / kBins;
  std::vector<double> up_to = {0};  // each bin
  size_t below = 0;
  for (size_t bin = 1; bin <= kBins; ++bin) {
    const auto end = static_cast<float>(low + width * static_cast<double>(bin));
    const auto next = static_cast<size_t>(std::ranges::upper_bound(sorted, end) - sorted.begin());
    up_to.push_back(up_to.back() + std::cbrt(static_cast<double>(next - below)));
    below = next;
  }
  size_t bin = 0;
  for (size_t i = 0; i < means.size(); ++i) {
    const double wanted =
        up_to.back() * (static_cast<double>(i) + 0.5) / static_cast<double>(means.size());
    while (bin + 1 < kBins && up_to[bin + 1] < wanted) ++bin;
    const double part = (wanted - up_to[bin]) / std::max(up_to[bin + 1] - up_to[bin], 1e-9);
    means[i] = low + width * (static_cast<double>(bin) + part);
  }
}

// The numbers of a table, ascending. REQUIRES: `sorted` is, and not empty.
std::vector<float> table_of(std::span<const float> sorted) {
  std::vector<float> table(sorted.begin(), sorted.end());
  table.erase(std::unique(table.begin(), table.end()), table.end());
  if (table.size() <= kEntries) return table;  // nothing is lost
  std::vector<double> sums = {0};
  for (float x : sorted) sums.push_back(sums.back() + double{x});
  std::vector<double> means(kEntries);
  begin_means(sorted, means);
  for (int round = 0; round < kRounds; ++round) {
    size_t begin = 0;
    for (size_t i = 0; i < kEntries; ++i) {
      const auto cut = [&] {
        const auto middle = static_cast<float>((means[i] + means[i + 1]) / 2);
        return static_cast<size_t>(std::ranges::upper_bound(sorted, middle) - sorted.begin());
      };
      const size_t end = i + 1 < kEntries ? std::max(cut(), begin) : sorted.size();
      if (end > begin) means[i] = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
      begin = end;
    }
  }
  table.assign(means.begin(), means.end());
  std::ranges::sort(table);
  return table;
}

struct Shared {
  Tensor table, codes;
};

Shared shared(const Tensor& weights) {
  const std::span<const float> all = weights.data<float>();
  std::vector<float> sorted(all.begin(), all.end());
  std::ranges::sort(sorted);
  const std::vector<float> table = table_of(sorted);
  Shared result{Tensor::of<float>({static_cast<int64_t>(table.size())}, std::span(table)),
                Tensor({DType::kU8, weights.shape()})};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto above = std::ranges::lower_bound(table, all[i]);
    const bool is_below =
        above == table.end() || (above != table.begin() && all[i] - above[-1] < *above - all[i]);
    result.codes.data<uint8_t>()[i] =
        static_cast<uint8_t>(above - table.begin() - (is_below ? 1 : 0));
  }
  return result;
}

bool can_share(const Graph& graph, const Node& node, size_t input) {
  if (!is_parameter(graph, node, input)) return false;
  const Tensor& weights = *graph[node.inputs[input]].constant;
  return weights.dtype() == DType::kF32 && weights.count() >= kFewest &&
         std::ranges::all_of(weights.data<float>(), [](float x) { return std::isfinite(x); });
}

}  // namespace

Result<Compressed> codebook(const Graph& graph, const Context&) {
  Compressed result;
  passes::Rewriter rewriter(graph);
  std::vector<bool> is_shared(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || is_shared[static_cast<size_t>(id)] || !can_share(graph, node, i)) {
        continue;
      }
      is_shared[static_cast<size_t>(id)] = true;
      const Shared parts = shared(*graph[id].constant);
      Graph& to = rewriter.to();
      const std::string& name = graph[id].name;
      const ValueId table = to.add_constant(name + ".codebook", parts.table);
      const ValueId codes = to.add_constant(name + ".codes", parts.codes);
      SHOAL_ASSIGN(const ValueId indices,
                   to.add(ops::cast, {codes}, {{"to", ops::onnx_number_of(DType::kI32)}}));
      SHOAL_ASSIGN(const ValueId weights, to.add(ops::gather, {table, indices}, {}, name));
      rewriter.replace(id, weights);
      ++result.compressed;
    }
    SHOAL_TRY(rewriter.copy(node));
  }
  if (result.compressed == 0) {
    return Status(Code::kUnsupported,
                  "there are no f32 weights of " + std::to_string(kFewest) + " numbers or more");
  }
  result.parts = result.compressed;
  SHOAL_ASSIGN(result.graph, rewriter.finish());
  return result;
}

}  // namespace shoal::compress
