// Attention, y = softmax(scale q k' + mask) v, without its scores in memory. Keys are walked in
// order; sums so far are corrected whenever a larger score is met ("online softmax"):
//
//   m' = max(m, s),  t' = t exp(m - m') + exp(s - m'),  y' = y exp(m - m') + exp(s - m') v
//
// for a score s of value v, the largest score m and the sum t of exponentials before. In the end y
// is divided by t. A score of -infinity adds nothing, so that a row of such scores gives NaN.
//
// With local memory, the items of a group share a block of queries and take one key each, then one
// column of y each. Without, an item walks the keys for some columns of a query alone.
#include "shoal/model/ops/attention/attention.h"

#include <algorithm>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

constexpr size_t kMask = 3;

constexpr std::string_view kAlone = R"(const int chunk = i % $chunks;
const int row = i / $chunks % $queries;
const int z = i / ($chunks * $queries);
const int q_at = $q_base + row * $q_step;
const int k_at = $k_base;
const int v_at = $v_base + chunk * $columns;
const int y_at = $y_base + row * $y_step + chunk * $columns;
const int count = $width - chunk * $columns < $columns ? $width - chunk * $columns : $columns;
float top = -INFINITY;
float total = 0.0f;
float sums[$columns];
for (int c = 0; c < $columns; ++c) sums[c] = 0.0f;
for (int j = 0; j < $keys; ++j) {
  float s = 0.0f;
  for (int d = 0; d < $depth; ++d) s += LOAD(q, q_at + d) * LOAD(k, k_at + j * $k_step + d);
  s = s * $scale$mask;
  if (s > top) {
    const float shrink = exp(top - s);
    total *= shrink;
    for (int c = 0; c < $columns; ++c) sums[c] *= shrink;
    top = s;
  }
  const float p = s == -INFINITY ? 0.0f : exp(s - top);
  total += p;
  for (int c = 0; c < count; ++c) sums[c] += p * LOAD(v, v_at + j * $v_step + c);
}
for (int c = 0; c < count; ++c) STORE(y, y_at + c, sums[c] / total);
)";

constexpr std::string_view kTogether = R"(const int item = ITEM(0);
const int first = GROUP(0) % $blocks * $rows;
const int z = GROUP(0) / $blocks;
const int q_at = $q_base;
const int k_at = $k_base;
const int v_at = $v_base;
const int y_at = $y_base;
for (int e = item; e < $rows * $depth; e += $items) {
  const int row = first + e / $depth < $queries ? first + e / $depth : $queries - 1;
  LOCAL(some, e) = LOAD(q, q_at + row * $q_step + e % $depth);
}
if (item < $rows) {
  LOCAL(tops, item) = -INFINITY;
  LOCAL(totals, item) = 0.0f;
}
float sums[$rows * $chunks];
for (int e = 0; e < $rows * $chunks; ++e) sums[e] = 0.0f;
BARRIER;
for (int begin = 0; begin < $keys; begin += $items) {
  const int j = begin + item;
  float dots[$rows];
  for (int r = 0; r < $rows; ++r) dots[r] = 0.0f;
  if (j < $keys) {
    for (int d = 0; d < $depth; ++d) {
      const float x = LOAD(k, k_at + j * $k_step + d);
      for (int r = 0; r < $rows; ++r) dots[r] += x * LOCAL(some, r * $depth + d);
    }
  }
  for (int r = 0; r < $rows; ++r) {
    const int row = first + r < $queries ? first + r : $queries - 1;
    float s = -INFINITY;
    if (j < $keys) s = dots[r] * $scale$mask;
    dots[r] = s;
    LOCAL(scores, r * $items + item) = s;
  }
  BARRIER;
  if (item < $rows) {
    float a = LOCAL(tops, item);
    LOCAL(shrinks, item) = a;
    for (int t = 0; t < $items; ++t) {
      const float b = LOCAL(scores, item * $items + t);
      a = b > a || b != b ? b : a;
    }
    LOCAL(tops, item) = a;
    LOCAL(shrinks, item) = a == -INFINITY ? 1.0f : exp(LOCAL(shrinks, item) - a);
  }
  BARRIER;
  for (int r = 0; r < $rows; ++r) {
    LOCAL(scores, r * $items + item) = dots[r] == -INFINITY ? 0.0f : exp(dots[r] - LOCAL(tops, r));
  }
  BARRIER;
  if (item < $rows) {
    float total = LOCAL(totals, item) * LOCAL(shrinks, item);
    for (int t = 0; t < $items; ++t) total += LOCAL(scores, item * $items + t);
    LOCAL(totals, item) = total;
  }
  for (int c = 0; c < $chunks; ++c) {
    const int column = c * $items + item;
    if (column < $width) {
      for (int r = 0; r < $rows; ++r) sums[r * $chunks + c] *= LOCAL(shrinks, r);
      for (int t = 0; t < $items && begin + t < $keys; ++t) {
        const float x = LOAD(v, v_at + (begin + t) * $v_step + column);
        for (int r = 0; r < $rows; ++r) sums[r * $chunks + c] += LOCAL(scores, r * $items + t) * x;
      }
    }
  }
  BARRIER;
}
for (int c = 0; c < $chunks; ++c) {
  const int column = c * $items + item;
  for (int r = 0; r < $rows; ++r) {
    if (column < $width && first + r < $queries) {
      STORE(y, y_at + (first + r) * $y_step + column, sums[r * $chunks + c] / LOCAL(totals, r));
    }
  }
}
)";

// The first element of head `z` of a tensor of `tokens`, each of `size` elements a head, as the
// text of AttentionSizes::begin().
std::string base_text(const ops::AttentionSizes& n, int64_t tokens, int64_t size) {
  if (!n.tokens_first) return "z * " + text_of(tokens * size);
  const std::string heads = text_of(n.heads);
  return "(z / " + heads + " * " + text_of(tokens * n.heads) + " + z % " + heads + ") * " +
         text_of(size);
}

// What is added to the score of query `row` and key `j` of head `z`.
std::string mask_text(const NodeSpec& spec, const ops::AttentionSizes& n) {
  if (!spec.has(kMask)) return "";
  const ops::Strides at = ops::broadcast_strides(spec.shape(kMask), n.scores());
  const std::string heads = text_of(n.heads);
  return " + LOAD(mask, z / " + heads + " * " + text_of(at[0]) + " + z % " + heads + " * " +
         text_of(at[1]) + " + row * " + text_of(at[2]) + " + j * " + text_of(at[3]) + ")";
}

std::map<std::string, std::string> values_of(const NodeSpec& spec, const ops::AttentionSizes& n) {
  return {{"queries", text_of(n.queries)},
          {"keys", text_of(n.keys)},
          {"depth", text_of(n.depth)},
          {"width", text_of(n.width)},
          {"q_base", base_text(n, n.queries, n.depth)},
          {"k_base", base_text(n, n.keys, n.depth)},
          {"v_base", base_text(n, n.keys, n.width)},
          {"y_base", base_text(n, n.queries, n.width)},
          {"q_step", text_of(n.step(n.depth))},
          {"k_step", text_of(n.step(n.depth))},
          {"v_step", text_of(n.step(n.width))},
          {"y_step", text_of(n.step(n.width))},
          {"scale", text_of(spec.node.real("scale", 1))},
          {"mask", mask_text(spec, n)}};
}

Launch alone(const NodeSpec& spec, const ops::AttentionSizes& n, std::vector<Argument> arguments) {
  constexpr int64_t kMostColumns = 64;  // that an item keeps
  const int64_t columns = std::min(n.width, kMostColumns);
  const int64_t chunks = (n.width + columns - 1) / columns;
  auto values = values_of(spec, n);
  values["columns"] = text_of(columns);
  values["chunks"] = text_of(chunks);
  return for_each_element(n.batch * n.heads * n.queries * chunks, std::move(arguments),
                          filled(kAlone, values), spec.device);
}

// nullopt if the device has no memory for it.
std::optional<Launch> together(const NodeSpec& spec, const ops::AttentionSizes& n,
                               std::vector<Argument> arguments) {
  constexpr int64_t kItems = 64, kRows = 8, kMostChunks = 4;
  const int64_t chunks = (n.width + kItems - 1) / kItems;
  const int64_t blocks = (n.queries + kRows - 1) / kRows;
  std::vector<LocalArray> locals{{"some", kRows * n.depth},
                                 {"scores", kRows * kItems},
                                 {"tops", kRows},
                                 {"totals", kRows},
                                 {"shrinks", kRows}};
  int64_t elements = 0;
  for (const LocalArray& local : locals) elements += local.elements;
  const auto bytes = static_cast<int64_t>(sizeof(float)) * elements;
  if (bytes > spec.device.local_bytes || kItems > spec.device.max_group_items ||
      chunks > kMostChunks) {
    return std::nullopt;
  }
  auto values = values_of(spec, n);
  values["items"] = text_of(kItems);
  values["rows"] = text_of(kRows);
  values["chunks"] = text_of(chunks);
  values["blocks"] = text_of(blocks);
  return Launch{std::move(arguments),
                std::move(locals),
                filled(kTogether, values),
                {n.batch * n.heads * blocks, 1, 1},
                {kItems, 1, 1}};
}

}  // namespace

std::optional<Work> make_attention(const NodeSpec& spec) {
  const ops::AttentionSizes n =
      ops::attention_sizes(spec.node, spec.shape(0), spec.shape(1), spec.shape(2));
  std::vector<Argument> arguments{
      {Kind::kInput, 0, "q"}, {Kind::kInput, 1, "k"}, {Kind::kInput, 2, "v"}};
  if (spec.has(kMask)) arguments.push_back({Kind::kInput, kMask, "mask"});
  arguments.push_back({Kind::kOutput, 0, "y"});
  Work work{.kernel = "attention"};
  std::optional<Launch> launch = together(spec, n, arguments);
  work.launches.push_back(launch ? *std::move(launch) : alone(spec, n, std::move(arguments)));
  return work;
}

}  // namespace shoal::gpu
