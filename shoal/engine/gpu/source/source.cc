#include "shoal/engine/gpu/source/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace shoal::gpu {
namespace {

// How an element is loaded depends on the argument: STORED_x says how x is stored. half is a type
// of storage that every OpenCL has; arithmetic in it is an extension.
//
// SHARED is memory that groups of one launch write and read: FENCE is between, and NEXT counts.
//
// COPY8 copies eight halves to local memory, where the device can while it goes on: END_COPIES ends
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
