// GLSL has no pointers: arguments are arrays of blocks, and an array that is also read in fours has
// a second name for the same binding, with vectors as elements. Arrays in local memory are of
// vectors; an element is a lane of one.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {
namespace {

constexpr std::string_view kPrelude = R"(
#define float4 vec4
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define LOAD(p, i) JOINED(LOAD_, STORED_##p)(p, i)
#define LOAD4(p, i) vec4(LOAD(p, i), LOAD(p, (i) + 1), LOAD(p, (i) + 2), LOAD(p, (i) + 3))
#define ALIGNED4(p, i) vec4(p##_fours[(i) >> 2])
#define STORE(p, i, v) JOINED(STORE_, STORED_##p)(p, i, v)
#define ALIGNED_STORE4(p, i, v) JOINED(ALIGNED_STORE4_, STORED_##p)(p, i, v)
#define LOAD_F32(p, i) (p[i])
#define STORE_F32(p, i, v) (p[i] = (v))
#define ALIGNED_STORE4_F32(p, i, v) (p##_fours[(i) >> 2] = (v))
#define LOAD_F16(p, i) float(p[i])
#define STORE_F16(p, i, v) (p[i] = float16_t(v))
#define ALIGNED_STORE4_F16(p, i, v) (p##_fours[(i) >> 2] = f16vec4(v))
#define LOAD_BF16(p, i) uintBitsToFloat(uint(p[i]) << 16)
#define STORE_BF16(p, i, v) (p[i] = uint16_t(isnan(v) ? floatBitsToUint(v) >> 16 | 0x40u : (floatBitsToUint(v) + 0x7fffu + (floatBitsToUint(v) >> 16 & 1u)) >> 16))
#define GROUP_0 (int(gl_WorkGroupID.x) + first_group)
#define GROUP_1 int(gl_WorkGroupID.y)
#define GROUP_2 int(gl_WorkGroupID.z)
#define GROUP(d) GROUP_##d
#define GROUPS(d) GROUPS_##d
#define ITEM(d) int(gl_LocalInvocationID[d])
#define BARRIER barrier()
#define BARRIER_ALL memoryBarrier(); barrier()
#define FENCE memoryBarrier()
#define SHARED(p, i) p[i]
#define NEXT(p, i) atomicAdd(p[i], 1)
#define LOCAL(p, i) p[(i) >> 2][(i) & 3]
#define LOCAL4(p, i) p[i]
#define ZERO4 vec4(0.0)
#define SUM4(v) ((v).x + (v).y + (v).z + (v).w)
#define TO_FLOAT(i) float(i)
#define UNROLL [[unroll]]
#define INFINITY uintBitsToFloat(0x7f800000u)
#define NAN uintBitsToFloat(0x7fc00000u)
#define fabs abs
#define rint roundEven
layout(push_constant) uniform Grid { int first_group; };
)";

// Functions that GLSL lacks, or for which Vulkan allows errors above 2^-12 (sin, atan and functions
// based on them) or undefined results (pow of negative numbers). Each may call those before it.
//
// erf and tanh are the ratios of engine/cpu/elementwise/vector_math-inl.h. sin, atan, expm1, log1p
// and sinh are Taylor's series, near 0, within 1e-7.
struct MathFunction {
  std::string_view name, definition;
};
constexpr auto kMath = std::to_array<MathFunction>({
    {"odd_ratio", R"(float odd_ratio(float x, float end, float p, float q) {
  return x != x ? x : x >= end ? 1.0 : x <= -end ? -1.0 : clamp(x * p / q, -1.0, 1.0);
}
)"},
    {"erf", R"(float erf(float x) {
  float s = x * x;
  return odd_ratio(x, 3.92,
      1.1283791 + s * (0.19040741 + s * (0.052748848 + s * (0.0037656578 + s * (0.00028488372 + s * 2.0500811e-6)))),
      1.0 + s * (0.50207692 + s * (0.1141095 + s * (0.014969298 + s * (0.0011625456 + s * 3.8091704e-5)))));
}
)"},
    {"tanh", R"(float tanh(float x) {
  float s = x * x;
  return odd_ratio(x, 9.02,
      1.0 + s * (0.13379717 + s * (0.0034940338 + s * (2.0583468e-5 + s * 1.3319053e-8))),
      1.0 + s * (0.46713033 + s * (0.02587107 + s * (0.00032830916 + s * 7.762012e-7))));
}
)"},
    {"expm1", R"(float expm1(float x) {
  if (!(abs(x) < 0.5)) return exp(x) - 1.0;
  return x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0))))));
}
)"},
    // log((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...)
    {"log1p", R"(float log1p(float x) {
  if (!(abs(x) < 0.5)) return log(1.0 + x);
  float s = x / (2.0 + x);
  float q = s * s;
  return 2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (0.2 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q / 13.0))))));
}
)"},
    // sin(near + k pi), from the nearest k; pi in three parts, the first two exact in products with
    // k.
    {"sin_near", R"(float sin_near(float x, float k) {
  precise float r = x - k * 3.140625;
  r = r - k * 9.67502593994140625e-4;
  r = r - k * 1.50995799e-7;
  float q = r * r;
  float y = r * (1.0 + q * (-1.0 / 6.0 + q * (1.0 / 120.0 + q * (-1.0 / 5040.0 + q * (1.0 / 362880.0 - q / 39916800.0)))));
  return mod(floor(k), 2.0) == 0.0 ? y : -y;
}
)"},
    {"sin", "float sin(float x) { return sin_near(x, roundEven(x * 0.318309886)); }\n"},
    {"cos", "float cos(float x) { return -sin_near(x, floor(x * 0.318309886) + 0.5); }\n"},
    {"tan", "float tan(float x) { return sin(x) / cos(x); }\n"},
    {"atan", R"(float atan(float x) {
  float a = abs(x);
  float t = a > 2.41421356 ? -1.0 / a : a > 0.414213562 ? (a - 1.0) / (a + 1.0) : a;
  float q = t * t;
  float y = t * (1.0 + q * (-1.0 / 3.0 + q * (0.2 + q * (-1.0 / 7.0 + q * (1.0 / 9.0 + q * (-1.0 / 11.0 + q * (1.0 / 13.0 - q / 15.0)))))));
  y += a > 2.41421356 ? 1.57079633 : a > 0.414213562 ? 0.785398163 : 0.0;
  return x < 0.0 ? -y : y;
}
)"},
    {"asin", R"(float asin(float x) {
  if (!(abs(x) < 1.0)) return x == 1.0 ? 1.57079633 : x == -1.0 ? -1.57079633 : NAN;
  return atan(x / sqrt((1.0 - x) * (1.0 + x)));
}
)"},
    {"acos", R"(float acos(float x) {
  if (!(abs(x) < 1.0)) return x == 1.0 ? 0.0 : x == -1.0 ? 3.14159265 : NAN;
  return 2.0 * atan(sqrt((1.0 - x) / (1.0 + x)));
}
)"},
    {"sinh", R"(float sinh(float x) {
  float q = x * x;
  if (q < 1.0) return x * (1.0 + q / 6.0 * (1.0 + q / 20.0 * (1.0 + q / 42.0 * (1.0 + q / 72.0))));
  return 0.5 * exp(x) - 0.5 * exp(-x);
}
)"},
    {"cosh", "float cosh(float x) { return 0.5 * exp(x) + 0.5 * exp(-x); }\n"},
    {"asinh", R"(float asinh(float x) {
  float a = abs(x);
  float y = log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)));
  return x < 0.0 ? -y : y;
}
)"},
    {"acosh", R"(float acosh(float x) {
  float t = x - 1.0;
  return t < 0.0 ? NAN : log1p(t + sqrt(t * (2.0 + t)));
}
)"},
    {"atanh", R"(float atanh(float x) {
  float a = abs(x);
  if (!(a < 1.0)) return a == 1.0 ? x * INFINITY : NAN;
  float y = 0.5 * log1p(2.0 * a / (1.0 - a));
  return x < 0.0 ? -y : y;
}
)"},
    {"pow", R"(float pow(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  bool is_odd = b == floor(b) && mod(b, 2.0) == 1.0;
  if (a == 0.0) return b > 0.0 ? (is_odd ? a : 0.0) : INFINITY;
  if (a < 0.0 && b != floor(b)) return NAN;
  float y = exp2(b * log2(abs(a)));
  return a < 0.0 && is_odd ? -y : y;
}
)"},
});

// The definitions that a text needs. They hide the functions of GLSL.
std::string math_for(const std::string& text) {
  std::string definitions;
  for (size_t i = kMath.size(); i-- > 0;) {
    const std::string name(kMath[i].name), call = name + "(";
    if (text.find(call) == text.npos && definitions.find(call) == definitions.npos) continue;
    definitions = "#define " + name + " m_" + name + "\n" + std::string(kMath[i].definition) +
                  std::move(definitions);
  }
  return definitions;
}

std::string buffer_text(size_t binding, const std::string& block, const std::string& access,
                        const std::string& type, const std::string& name) {
  return "layout(std430, set = 0, binding = " + std::to_string(binding) + ") " + access +
         "buffer " + block + " { " + type + " " + name + "[]; };\n";
}

std::string shader_text(const Launch& launch) {
  using Kind = Argument::Kind;
  const bool groups_meet = std::ranges::find(launch.arguments, Kind::kCounters, &Argument::kind) !=
                           launch.arguments.end();
  std::string declarations;
  bool has_half = false;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    const std::string& name = argument.name;
    const StorageText& stored = text_of(argument.storage);
    const bool is_shared = launch.body.find("SHARED(" + name + ",") != launch.body.npos;
    const bool is_coherent = groups_meet && (is_shared || argument.kind == Kind::kCounters);
    // What no item writes may be cached without asking for it again.
    const bool is_read = argument.kind == Kind::kInput || argument.kind == Kind::kTable;
    const std::string access = is_coherent ? "coherent " : is_read ? "restrict readonly " : "";
    const std::string block = "Block" + std::to_string(i);
    declarations += "#define STORED_" + name + " " + std::string(stored.name) + "\n";
    declarations += buffer_text(i, block, access,
                                std::string(name.starts_with("int_") ? "int" : stored.glsl), name);
    if (launch.body.find("ALIGNED4(" + name + ",") != launch.body.npos ||
        launch.body.find("ALIGNED_STORE4(" + name + ",") != launch.body.npos) {
      declarations +=
          buffer_text(i, block + "_4", access, std::string(stored.glsl_four), name + "_fours");
    }
    has_half |= argument.storage != Storage::kF32;
  }
  for (const LocalArray& local : launch.locals) {
    declarations += "shared vec4 " + local.name + "[" + text_of((local.elements + 3) / 4) + "];\n";
  }
  std::string sizes, grid;
  for (size_t d = 0; d < 3; ++d) {
    sizes += (d == 0 ? "local_size_" : ", local_size_") + std::string(1, "xyz"[d]) + " = " +
             text_of(launch.items[d]);
    grid += "#define GROUPS_" + std::to_string(d) + " " + text_of(launch.groups[d]) + "\n";
  }
  const std::string functions = definitions_for(launch.body);
  return "#version 450\n#extension GL_EXT_control_flow_attributes : require\n" +
         std::string(has_half ? "#extension GL_EXT_shader_16bit_storage : require\n" : "") +
         std::string(kPrelude) + grid + math_for(functions + launch.body) + functions +
         declarations + "layout(" + sizes + ") in;\nvoid main() {\n" + launch.body + "}\n";
}

}  // namespace

Shaders glsl_shaders(std::span<const Launch> launches) {
  Shaders shaders;
  std::unordered_map<std::string, size_t> known;  // by text
  for (const Launch& launch : launches) {
    const auto [found, is_new] = known.emplace(shader_text(launch), shaders.sources.size());
    if (is_new) shaders.sources.push_back(found->first);
    shaders.of.push_back(found->second);
  }
  return shaders;
}

}  // namespace shoal::gpu
