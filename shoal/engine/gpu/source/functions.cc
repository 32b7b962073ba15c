// A function is defined once and called by name, so that the texts of chains stay short. The
// meaning is that of the operator's record, NaN included; laws hold every line to it.
#include <algorithm>
#include <array>

#include "shoal/engine/gpu/source/source.h"
#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

struct Function {
  const Operator* op;
  std::string_view value;  // of x, a (alpha) and b (beta); of a and b where there are two operands
};

const auto kUnary = std::to_array<Function>({
    {&ops::abs, "fabs(x)"},
    {&ops::acos, "acos(x)"},
    {&ops::acosh, "acosh(x)"},
    {&ops::asin, "asin(x)"},
    {&ops::asinh, "asinh(x)"},
    {&ops::atan, "atan(x)"},
    {&ops::atanh, "atanh(x)"},
    {&ops::ceil, "ceil(x)"},
    {&ops::celu, "(x < 0.0f ? a * expm1(x / a) : x)"},
    {&ops::clip, "(x < a ? (a > b ? b : a) : x > b ? b : x)"},
    {&ops::cos, "cos(x)"},
    {&ops::cosh, "cosh(x)"},
    {&ops::elu, "(x < 0.0f ? a * expm1(x) : x)"},
    {&ops::erf, "erf(x)"},
    {&ops::exp, "exp(x)"},
    {&ops::floor, "floor(x)"},
    {&ops::gelu,
     "(a == 0.0f ? 0.5f * x * (1.0f + erf(x * 0.70710678f))"
     " : 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x))))"},
    {&ops::hard_sigmoid, "unit(a * x + b)"},
    {&ops::hard_swish, "(x * unit(x / 6.0f + 0.5f))"},
    {&ops::leaky_relu, "(x < 0.0f ? a * x : x)"},
    {&ops::log, "log(x)"},
    {&ops::mish, "(x * tanh(soft_plus(x)))"},
    {&ops::neg, "(-x)"},
    {&ops::reciprocal, "(1.0f / x)"},
    {&ops::relu, "(x < 0.0f ? 0.0f : x)"},
    {&ops::round, "rint(x)"},
    {&ops::selu, "(b * (x > 0.0f ? x : a * expm1(x)))"},
    {&ops::shrink, "(x < -a ? x + b : x > a ? x - b : 0.0f)"},
    {&ops::sigmoid, "(1.0f / (1.0f + exp(-x)))"},
    {&ops::sign, "(x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)"},
    {&ops::sin, "sin(x)"},
    {&ops::sinh, "sinh(x)"},
    {&ops::softplus, "soft_plus(x)"},
    {&ops::softsign, "(x / (1.0f + fabs(x)))"},
    {&ops::sqrt, "sqrt(x)"},
    {&ops::swish, "(x / (1.0f + exp(-a * x)))"},
    {&ops::tan, "tan(x)"},
    {&ops::tanh, "tanh(x)"},
    {&ops::thresholded_relu, "(x > a ? x : 0.0f)"},
});

const auto kBinary = std::to_array<Function>({
    {&ops::add, "(a + b)"},
    {&ops::div, "(a / b)"},
    // As model/ops/extrema.h has it: a NaN wins.
    {&ops::max, "(b > a || b != b ? b : a)"},
    {&ops::mean, "(a + b)"},
    {&ops::min, "(b < a || b != b ? b : a)"},
    {&ops::mul, "(a * b)"},
    {&ops::pow, "pow(a, b)"},
    {&ops::prelu, "(a < 0.0f ? a * b : a)"},
    {&ops::relu_backward, "(a > 0.0f ? b : 0.0f)"},
    {&ops::sub, "(a - b)"},
    {&ops::sum, "(a + b)"},
});

constexpr std::string_view kShared =
    "float unit(float x) { return x > 1.0f ? 1.0f : x < 0.0f ? 0.0f : x; }\n"
    "float soft_plus(float x) { return (x < 0.0f ? 0.0f : x) + log1p(exp(-fabs(x))); }\n";

// The bits of a half, and c + a b for the fragments of matrices of 16 x 16 and 16 x 8 that the
// items of a warp have (matrix.cc). Without units, items find each other's fragments in local
// memory.
struct Helper {
  std::string_view call, definition;
};
const Helper kHelpers[] = {
    {"BITS(",
     "ushort half_bits(float x) {\n"
     "  ushort bits;\n  vstore_half_rte(x, 0, (half*)&bits);\n  return bits;\n}\n"},
    {"mma_nvidia(",
     R"(float4 mma_nvidia(float4 c, uint4 a, uint2 b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w)
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
  return c;
}
)"},
    {"mma_local(",
     R"(float4 mma_local(float4 c, uint4 a, uint2 b, __local uint* room, int lane) {
  vstore4(a, 0, room + lane * 6);
  vstore2(b, 0, room + lane * 6 + 4);
  barrier(CLK_LOCAL_MEM_FENCE);
  float sums[4] = {c.x, c.y, c.z, c.w};
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) {
      const int from = (lane / 4 * 4 + k % 8 / 2) * 6 + i / 2 + k / 8 * 2;
      const int to = ((lane % 4 * 2 + i % 2) * 4 + k % 8 / 2) * 6 + 4 + k / 8;
      sums[i] += vload_half(k % 2, (__local const half*)(room + from)) *
                 vload_half(k % 2, (__local const half*)(room + to));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return (float4)(sums[0], sums[1], sums[2], sums[3]);
}
)"},
};

const Function* find(std::span<const Function> functions, const Operator* op) {
  const auto found = std::ranges::find(functions, op, &Function::op);
  return found == functions.end() ? nullptr : &*found;
}

std::string name_of(const Operator* op) { return "f_" + std::string(op->name); }

void define(std::span<const Function> functions, std::string_view parameters,
            const std::string& text, std::string& definitions) {
  for (const Function& function : functions) {
    if (text.find(name_of(function.op) + "(") == text.npos) continue;
    definitions += "float " + name_of(function.op) + std::string(parameters) + " { return " +
                   std::string(function.value) + "; }\n";
  }
}

}  // namespace

bool is_unary(const Operator* op) { return find(kUnary, op) != nullptr; }
bool is_binary(const Operator* op) { return find(kBinary, op) != nullptr; }

std::string call(const ops::Activation& function, const std::string& x) {
  if (function.op == nullptr) return x;
  return name_of(function.op) + "(" + x + ", " + text_of(function.alpha) + ", " +
         text_of(function.beta) + ")";
}

std::string call(const Operator* op, const std::string& a, const std::string& b) {
  return name_of(op) + "(" + a + ", " + b + ")";
}

std::string definitions_for(const std::string& text) {
  std::string definitions;
  define(kUnary, "(float x, float a, float b)", text, definitions);
  define(kBinary, "(float a, float b)", text, definitions);
  const bool shared = definitions.find("unit(") != definitions.npos ||
                      definitions.find("soft_plus(") != definitions.npos;
  for (const Helper& helper : kHelpers) {
    if (text.find(helper.call) != text.npos) definitions += helper.definition;
  }
  return shared ? std::string(kShared) + definitions : definitions;
}

}  // namespace shoal::gpu
