// Sizes of panels and of the register block. Included once per instruction set, between the lines
// that open and close its namespace.
#if defined(SHOAL_CPU_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_PANELS_INL_H
#undef SHOAL_CPU_PANELS_INL_H
#else
#define SHOAL_CPU_PANELS_INL_H
#endif

#include <hwy/highway.h>

#include "shoal/engine/cpu/product/product.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Register block: kRows * kVectors accumulators, kVectors vectors of the right panel and one
// broadcast element of the left panel are live at once: 28 of 32 registers, or 16 of 16. Each step
// of k has kRows * kVectors FMA for kRows + kVectors loads: 24 for 11, or 12 for 7.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;
constexpr int kLanes = HWY_LANES(float);
constexpr int kColumns = kVectors * kLanes;
static_assert(kColumns <= kMaxPanelColumns && kLanes <= kPanelSlack);

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
