#include "shoal/engine/gpu/source/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "shoal/model/ops/ops.h"

namespace shoal::gpu {
namespace {

// A function is defined once and called by name, so that the texts of chains stay short. The
// meaning is that of the operator's record, NaN included; laws hold every line to it.
struct Function {
  const Operator* op;
  std::string_view value;  // of x, a (alpha) and b (beta); of a and b if there are two operands
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
  const auto match = std::ranges::find(functions, op, &Function::op);
  return match == functions.end() ? nullptr : &*match;
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

namespace {

// How an element is loaded depends on the argument: STORED_x says how x is stored. half is a type
// of storage that every OpenCL has; arithmetic in it is an extension.
//
// SHARED is memory that groups of one launch write and read, separated by FENCE; NEXT counts.
//
// COPY8 copies eight halves to local memory, if the device can while it goes on: END_COPIES ends
// a group of copies, and WAIT_FOR_COPIES waits for all groups but the last one.
constexpr std::string_view kPrelude = R"(
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define LOAD(p, i) JOINED(LOAD_, STORED_##p)(p, i)
#define LOAD4(p, i) JOINED(LOAD4_, STORED_##p)(p, i)
#define ALIGNED4(p, i) JOINED(ALIGNED4_, STORED_##p)(p, i)
#define STORE(p, i, v) JOINED(STORE_, STORED_##p)(p, i, v)
#define ALIGNED_STORE4(p, i, v) JOINED(ALIGNED_STORE4_, STORED_##p)(p, i, v)
#define BITS(p, i) JOINED(BITS_, STORED_##p)(p, i)
#define LOAD_F32(p, i) ((p)[i])
#define LOAD4_F32(p, i) vload4(0, (p) + (i))
#define ALIGNED4_F32(p, i) (*(__global const float4*)((p) + (i)))
#define STORE_F32(p, i, v) ((p)[i] = (v))
#define ALIGNED_STORE4_F32(p, i, v) (*(__global float4*)((p) + (i)) = (v))
#define BITS_F32(p, i) half_bits((p)[i])
#define LOAD_F16(p, i) vload_half((i), (p))
#define LOAD4_F16(p, i) vload_half4(0, (p) + (i))
#define ALIGNED4_F16(p, i) vloada_half4(0, (p) + (i))
#define STORE_F16(p, i, v) vstore_half_rte((v), (i), (p))
#define ALIGNED_STORE4_F16(p, i, v) vstorea_half4_rte((v), 0, (p) + (i))
#define BITS_F16(p, i) (((__global const ushort*)(p))[i])
#define LOAD_BF16(p, i) as_float((uint)(p)[i] << 16)
#define STORE_BF16(p, i, v) ((p)[i] = (ushort)(isnan(v) ? as_uint(v) >> 16 | 0x40u : (as_uint(v) + 0x7fffu + (as_uint(v) >> 16 & 1u)) >> 16))
#define BITS8(p, i) (*(__global const uint4*)((p) + (i)))
#define STORE_BITS8(p, i, v) (*(__global uint4*)((p) + (i)) = (v))
#define GROUP(d) ((int)get_group_id(d))
#define GROUPS(d) ((int)get_num_groups(d))
#define ITEM(d) ((int)get_local_id(d))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_ALL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#ifdef __NV_CL_C_VERSION
#define FENCE asm volatile("membar.gl;" : : : "memory")
#else
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
#ifdef __NV_CL_C_VERSION
#define COPY8(to, i, p, j) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" : : "r"((uint)(size_t)((__local uint4*)(to) + (i))), "l"((ulong)((p) + (j))) : "memory")
#define END_COPIES asm volatile("cp.async.commit_group;" : : : "memory")
#define WAIT_FOR_COPIES asm volatile("cp.async.wait_group 1;" : : : "memory")
#else
#define COPY8(to, i, p, j) (LOCAL_BITS4(to, i) = BITS8(p, j))
#define END_COPIES
#define WAIT_FOR_COPIES
#endif
#define SHARED(p, i) (((volatile __global float*)(p))[i])
#define NEXT(p, i) atomic_inc((p) + (i))
#define LOCAL_ARRAY __local float*
#define LOCAL(p, i) ((p)[i])
#define LOCAL4(p, i) (((__local float4*)(p))[i])
#define LOCAL_BITS4(p, i) (((__local uint4*)(p))[i])
#define ZERO4 ((float4)(0.0f))
#define SUM4(v) ((v).x + (v).y + (v).z + (v).w)
#define TO_FLOAT(i) ((float)(i))
#define UNROLL _Pragma("unroll")
)";

std::string joined(const std::array<int64_t, 3>& numbers) {
  return text_of(numbers[0]) + ", " + text_of(numbers[1]) + ", " + text_of(numbers[2]);
}

}  // namespace

// A buffer is passed with the place in it where the value begins: values are parts of one buffer.
KernelText opencl_text(const Launch& launch) {
  using Kind = Argument::Kind;
  std::string parameters, declarations, storage, end;
  for (const Argument& argument : launch.arguments) {
    const bool is_read = argument.kind == Kind::kInput || argument.kind == Kind::kTable;
    const bool is_int = argument.name.starts_with("int_");
    const StorageText& stored = text_of(argument.storage);
    const std::string type = std::string("__global ") + (is_read ? "const " : "") +
                             std::string(is_int ? "int" : stored.opencl) + "* ";
    storage += "#define STORED_" + argument.name + " " + std::string(stored.name) + "\n";
    end += "#undef STORED_" + argument.name + "\n";
    parameters += (parameters.empty() ? "" : ", ") + type + argument.name + "_buffer, ulong " +
                  argument.name + "_first";
    declarations +=
        type + argument.name + " = " + argument.name + "_buffer + " + argument.name + "_first;\n";
  }
  for (const LocalArray& local : launch.locals) {
    declarations += "__local float " + local.name + "[" + text_of(local.elements) +
                    "] __attribute__((aligned(16)));\n";
  }
  return {storage + "__kernel __attribute__((reqd_work_group_size(" + joined(launch.items) +
              "))) void ",
          "(" + parameters + ") {\n" + declarations + launch.body + "}\n" + end};
}

const StorageText& text_of(Storage storage) {
  static constexpr StorageText kTexts[] = {{"F32", "float", "float", "vec4"},
                                           {"F16", "half", "float16_t", "f16vec4"},
                                           {"BF16", "ushort", "uint16_t", ""}};
  return kTexts[static_cast<size_t>(storage)];
}

std::string text_of(int64_t number) { return std::to_string(number); }

std::string text_of(float number) {
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) return number > 0 ? "INFINITY" : "(-INFINITY)";
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 std::chars_format::scientific);
  return "(" + std::string(digits.data(), end.ptr) + "f)";
}

std::string filled(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  while (!text.empty()) {
    const size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar + 1);
    size_t length = 0;
    while (length < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_')) {
      ++length;
    }
    const auto value = values.find(std::string(text.substr(0, length)));
    SHOAL_CHECK(value != values.end());
    result += value->second;
    text.remove_prefix(length);
  }
  return result;
}

std::string offset_text(const Shape& shape, const ops::Strides& strides, std::string_view index,
                        int64_t first) {
  struct Axis {
    int64_t length, stride;
  };
  std::vector<Axis> axes;  // innermost first
  for (size_t d = shape.rank(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (!axes.empty() && strides[d] == axes.back().stride * axes.back().length) {
      axes.back().length *= shape[d];
    } else {
      axes.push_back({shape[d], strides[d]});
    }
  }
  std::string text = first == 0 ? "" : text_of(first);
  int64_t inner = 1;  // elements of the axes before
  for (size_t i = 0; i < axes.size(); ++i) {
    std::string at(index);
    if (inner > 1) at += " / " + text_of(inner);
    if (i + 1 < axes.size()) at += " % " + text_of(axes[i].length);
    inner *= axes[i].length;
    if (axes[i].stride == 0) continue;
    text += (text.empty() ? "(" : " + (") + at + ")";
    if (axes[i].stride != 1) text += " * (" + text_of(axes[i].stride) + ")";
  }
  return text.empty() ? "0" : "(" + text + ")";
}

Launch for_each_element(int64_t count, std::vector<Argument> arguments, std::string body,
                        const Capabilities& device) {
  const int64_t items = std::min({int64_t{64}, device.max_group_items, count});
  Launch launch{std::move(arguments), {}, {}, {(count + items - 1) / items, 1, 1}, {items, 1, 1}};
  launch.body = "const int i = GROUP(0) * " + text_of(items) + " + ITEM(0);\n";
  if (count % items != 0) launch.body += "if (i >= " + text_of(count) + ") return;\n";
  launch.body += std::move(body);
  return launch;
}

std::string kernel_name(size_t place) { return "k" + std::to_string(place); }

std::string opencl_program(std::span<const KernelText> kernels) {
  std::string all;
  for (size_t i = 0; i < kernels.size(); ++i) {
    all += kernels[i].before + kernel_name(i) + kernels[i].after;
  }
  return std::string(kPrelude) + definitions_for(all) + all;
}

}  // namespace shoal::gpu
