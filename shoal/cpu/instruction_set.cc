// Highway's table of targets, as names.
#include "shoal/cpu/instruction_set.h"

#include <hwy/highway.h>

namespace shoal::cpu {
namespace {

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

}  // namespace shoal::cpu
