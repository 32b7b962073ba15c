// Highway's table of targets, as names, and the extensions that Highway 1.0 has no targets for: on
// ARM, Linux reports them in the auxiliary vector.
//
// No kernel computes in f16. One rounding of it has an error of up to 2^-11 = 4.9e-4 of the result,
// and results must agree to 1e-4. The instructions that multiply f16 and add in f32 (fp16fml) would
// need activations in f16, which is the same rounding. Weights may be f16, because those of the
// model are: FCVTL widens four of them, which every 64-bit ARM CPU has.
#include "shoal/engine/cpu/instruction_set.h"

#include <hwy/highway.h>

#include <algorithm>
#include <span>

#if HWY_ARCH_ARM_A64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace shoal::cpu {
namespace {

struct Known {
  Extension extension;
  std::string_view name;
  bool is_here;
};

std::span<const Known> known_extensions() {
#if HWY_ARCH_ARM_A64
  static const Known kAll[] = {
      {Extension::kDotProduct, "dotprod", (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0},
      {Extension::kMatrixProduct, "i8mm", (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0},
      {Extension::kHalfFloats, "fp16", (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0}};
  return kAll;
#elif HWY_ARCH_X86
  static const Known kAll[] = {
      {Extension::kDotProduct, "avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {Extension::kBytePermute, "avx512vbmi", __builtin_cpu_supports("avx512vbmi") != 0}};
  return kAll;
#else
  return {};
#endif
}

// Best first: Highway gives better targets lower bits. The target that the compiler may use
// everywhere is added in any case, because Highway 1.0 denies NEON to CPUs without AES.
std::vector<int64_t> usable_targets() {
  std::vector<int64_t> targets;
  for (int64_t left = (hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS; left != 0;
       left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

}  // namespace

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void settle_instruction_set() {
  if (!hwy::GetChosenTarget().IsInitialized()) {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

void use_instruction_set(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  for (int64_t target : usable_targets()) {
    if (hwy::TargetName(target) == name) hwy::SetSupportedTargetsForTest(target);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

bool has(Extension extension) {
  return std::ranges::any_of(known_extensions(), [&](const Known& known) {
    return known.extension == extension && known.is_here;
  });
}

std::vector<std::string_view> extensions() {
  std::vector<std::string_view> names;
  for (const Known& known : known_extensions()) {
    if (known.is_here) names.push_back(known.name);
  }
  return names;
}

}  // namespace shoal::cpu
