// Matrix products: MatMul, Gemm and what is fused to them, y = activation(alpha a b + c +
// residual).
//
// direct  an item computes one column of several rows: an element of b is loaded once for all of
//         them, and items of a group read neighbours
// dots    where b is stored by columns (transB), as fully-connected layers have it: an item
//         computes one element as a dot product of vectors of four [Huynh 2016]. Where the device
//         has local memory, the items of a group share an element: neighbours read neighbours, and
//         b comes as fast as memory gives it
// tiles   products by tiles (tiles.h), where the device has local memory
#include <algorithm>

#include "shoal/engine/gpu/kernels/makers.h"
#include "shoal/engine/gpu/source/functions.h"
#include "shoal/engine/gpu/source/source.h"
#include "shoal/engine/gpu/source/tiles.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/product/matrix_product.h"

namespace shoal::gpu {
namespace {

using Kind = Argument::Kind;

// y = a b of many matrices at once. Element (i, p) of a is at a_base + i * a_row + p * a_step, and
// element (p, j) of b at b_base + p * b_row + j * b_step.
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  std::string a_base, b_base;  // of matrix `z`
  int64_t a_row = 0, a_step = 0, b_row = 0, b_step = 0;
  std::string at;      // the place in y of row `r` and column `j` of matrix z
  std::string finish;  // turns `value` into what y has at `at`

  std::string store() const {
    return "const int at = " + at + ";\n" + finish + "STORE(y, at, value);\n";
  }
};

std::map<std::string, std::string> numbers_of(const Product& product) {
  return {{"m", text_of(product.m)},           {"n", text_of(product.n)},
          {"k", text_of(product.k)},           {"a_base", product.a_base},
          {"b_base", product.b_base},          {"a_row", text_of(product.a_row)},
          {"a_step", text_of(product.a_step)}, {"b_row", text_of(product.b_row)},
          {"b_step", text_of(product.b_step)}, {"finish", product.store()}};
}

constexpr std::string_view kDots = R"(const int j = GROUP(0) * $items + ITEM(0);
if (j >= $n) return;
const int r = GROUP(1);
const int z = GROUP(2);
const int a_at = $a_base + r * $a_row;
const int b_at = $b_base + j * $b_step;
float4 sums = ZERO4;
for (int p = 0; p + 3 < $k; p += 4) sums += LOAD4(a, a_at + p) * LOAD4(b, b_at + p);
float value = SUM4(sums);
for (int p = $k / 4 * 4; p < $k; ++p) value += LOAD(a, a_at + p) * LOAD(b, b_at + p);
$finish
)";

constexpr std::string_view kSharedDots = R"(const int j = GROUP(0);
const int r = GROUP(1);
const int z = GROUP(2);
const int item = ITEM(0);
const int a_at = $a_base + r * $a_row;
const int b_at = $b_base + j * $b_step;
float4 sums = ZERO4;
#pragma unroll 4
for (int p = item * 4; p < $k; p += $items * 4) sums += ALIGNED4(a, a_at + p) * ALIGNED4(b, b_at + p);
LOCAL(sum, item) = SUM4(sums);
BARRIER;
for (int s = $items / 2; s > 0; s /= 2) {
  if (item < s) LOCAL(sum, item) += LOCAL(sum, item + s);
  BARRIER;
}
if (item == 0) {
float value = LOCAL(sum, 0);
$finish
}
)";

constexpr std::string_view kDirect = R"(const int j = GROUP(0) * $items + ITEM(0);
if (j >= $n) return;
const int first = GROUP(1) * $rows;
const int z = GROUP(2);
const int b_at = $b_base + j * $b_step;
$clear
for (int p = 0; p < $k; ++p) {
  const float v = LOAD(b, b_at + p * $b_row);
$add
}
)";

// The body, after the values of all rows of the block are computed.
std::string direct_body(const Product& product, int64_t rows,
                        std::map<std::string, std::string> values) {
  std::string clear, add, store;
  const std::string last = text_of(product.m - 1);
  for (int64_t r = 0; r < rows; ++r) {
    const std::string number = text_of(r);
    clear += "float sum" + number + " = 0.0f;\nconst int row" + number + " = first + " + number +
             ";\nconst int from" + number + " = " + product.a_base + " + (row" + number + " < " +
             last + " ? row" + number + " : " + last + ") * " + text_of(product.a_row) + ";\n";
    add += "  sum" + number + " += v * LOAD(a, from" + number + " + p * " +
           text_of(product.a_step) + ");\n";
    store += "if (row" + number + " <= " + last + ") {\nconst int r = row" + number +
             ";\nfloat value = sum" + number + ";\n" + product.store() + "}\n";
  }
  values["rows"] = text_of(rows);
  values["clear"] = clear;
  values["add"] = add;
  return filled(kDirect, values) + store;
}

TileProduct tile_product(const Product& product) {
  auto values = numbers_of(product);
  values["load"] = "$load";
  TileProduct tiles{product.m, product.n, product.k,  product.batch,  {},
                    {},        {},        product.at, product.finish, product.n % 4 == 0};
  tiles.a = {"", "", filled("v = $load(a, $a_base + row * $a_row + k * $a_step);\n", values),
             product.a_step == 1};
  tiles.b = {"", "", filled("v = $load(b, $b_base + k * $b_row + column * $b_step);\n", values),
             product.b_row == 1};
  return tiles;
}

std::optional<Work> product_work(const NodeSpec& spec, const Product& product,
                                 std::vector<Argument> arguments) {
  auto tiles = make_tiles(tile_product(product), arguments, spec.device, spec.rank);
  if (tiles || spec.rank > 0) return tiles;
  auto values = numbers_of(product);
  const bool is_dot = product.a_step == 1 && product.b_row == 1 && product.b_step > 1;
  constexpr int64_t kShared = 128;
  if (is_dot && spec.device.has_local_memory() && spec.device.max_group_items >= kShared &&
      product.k % 4 == 0 && product.k >= kShared) {
    values["items"] = text_of(kShared);
    Work work{.kernel = "dots"};
    work.launches.push_back({std::move(arguments),
                             {{"sum", kShared}},
                             filled(kSharedDots, values),
                             {product.n, product.m, product.batch},
                             {kShared, 1, 1}});
    return work;
  }
  const int64_t items = std::min({int64_t{64}, spec.device.max_group_items, product.n});
  values["items"] = text_of(items);
  Launch launch{std::move(arguments),
                {},
                {},
                {(product.n + items - 1) / items, product.m, product.batch},
                {items, 1, 1}};
  if (is_dot) {
    launch.body = filled(kDots, values);
  } else {
    const int64_t rows = std::min<int64_t>(8, product.m);
    launch.body = direct_body(product, rows, values);
    launch.groups[1] = (product.m + rows - 1) / rows;
  }
  return Work{is_dot ? "dots" : "direct", {std::move(launch)}, {}, 0};
}

bool has_activation(const Operator* op) {
  return op == &ops::fused_mat_mul || op == &ops::fused_gemm;
}

// The residual and the activation of a fused node.
std::string end_of(const NodeSpec& spec, std::vector<Argument>& arguments) {
  std::string text;
  if (spec.has(3)) {
    arguments.push_back({Kind::kInput, 3, "residual"});
    text += "value += LOAD(residual, at);\n";
  }
  const bool is_fused = has_activation(spec.node.op);
  const std::string value = is_fused ? call(ops::activation_of(spec.node), "value") : "value";
  arguments.push_back({Kind::kOutput, 0, "y"});
  return text + (is_fused ? "value = " + value + ";\n" : "");
}

bool can_finish(const NodeSpec& spec) {
  if (!has_activation(spec.node.op)) return true;
  const Operator* op = ops::activation_of(spec.node).op;
  return op == nullptr || is_unary(op);
}

}  // namespace

std::optional<Work> make_mat_mul(const NodeSpec& spec) {
  const ops::MatMulSizes sizes = ops::matmul_sizes(spec.shape(0), spec.shape(1));
  const int64_t batch = sizes.batch.count();
  if (!can_finish(spec)) return std::nullopt;
  Product product;
  product.m = sizes.m;
  product.n = sizes.n;
  product.k = sizes.k;
  product.batch = batch;
  product.a_base = offset_text(sizes.batch, sizes.a, "z") + " * " + text_of(sizes.m * sizes.k);
  product.b_base = offset_text(sizes.batch, sizes.b, "z") + " * " + text_of(sizes.k * sizes.n);
  product.a_row = sizes.k;
  product.a_step = 1;
  product.b_row = sizes.n;
  product.b_step = 1;
  std::vector<Argument> arguments{{Kind::kInput, 0, "a"}, {Kind::kInput, 1, "b"}};
  std::string finish;
  if (spec.has(2)) {  // a vector along the last axis
    arguments.push_back({Kind::kInput, 2, "bias"});
    finish = "value += LOAD(bias, " + std::string(spec.shape(1).rank() == 1 ? "r" : "j") + ");\n";
  }
  product.at = "(z * " + text_of(sizes.m) + " + r) * " + text_of(sizes.n) + " + j";
  product.finish = finish + end_of(spec, arguments);
  return product_work(spec, product, std::move(arguments));
}

std::optional<Work> make_gemm(const NodeSpec& spec) {
  const bool ta = spec.node.integer("transA", 0) != 0, tb = spec.node.integer("transB", 0) != 0;
  const Shape &a = spec.shape(0), &b = spec.shape(1);
  Product product;
  product.m = a[ta ? 1 : 0];
  product.n = b[tb ? 0 : 1];
  product.k = a[ta ? 0 : 1];
  if (!can_finish(spec)) return std::nullopt;
  product.a_base = product.b_base = "0";
  product.a_row = ta ? 1 : product.k;
  product.a_step = ta ? product.m : 1;
  product.b_row = tb ? 1 : product.n;
  product.b_step = tb ? product.k : 1;
  std::vector<Argument> arguments{{Kind::kInput, 0, "a"}, {Kind::kInput, 1, "b"}};
  const float alpha = spec.node.real("alpha", 1);
  std::string finish = alpha == 1 ? "" : "value *= " + text_of(alpha) + ";\n";
  product.at = "r * " + text_of(product.n) + " + j";
  if (spec.has(2)) {
    arguments.push_back({Kind::kInput, 2, "c"});
    const ops::Strides strides = ops::broadcast_strides(spec.shape(2), spec.output());
    finish += "value += " + text_of(spec.node.real("beta", 1)) + " * LOAD(c, r * " +
              text_of(strides[0]) + " + j * " + text_of(strides[1]) + ");\n";
  }
  product.finish = finish + end_of(spec, arguments);
  return product_work(spec, product, std::move(arguments));
}

}  // namespace shoal::gpu
