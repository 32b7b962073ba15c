#include "shoal/cpu/instruction_set.h"

#include <hwy/highway.h>

namespace shoal::cpu {

std::vector<std::string_view> instruction_sets() {
  std::vector<std::string_view> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

void settle_instruction_set() {
  if (!hwy::GetChosenTarget().IsInitialized()) {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

void use_instruction_set(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (hwy::TargetName(target) == name) hwy::SetSupportedTargetsForTest(target);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace shoal::cpu
