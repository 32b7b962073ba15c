#include <algorithm>
#include <cstddef>

#include "shoal/engine/delta/block_histograms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/delta/bins.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::delta::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void bins_of_here(const float* elements, size_t count, const Bins& bins, uint8_t* to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> d_int;
  const hn::Rebind<uint8_t, decltype(d)> d_byte;
  const auto low = hn::Set(d, bins.low), scale = hn::Set(d, bins.scale), zero = hn::Zero(d);
  const auto most = hn::Set(d, static_cast<float>(bins.count - 1));
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto place = hn::Mul(hn::Sub(hn::LoadU(d, elements + i), low), scale);
    const auto within = hn::IfThenElseZero(hn::Gt(place, zero), hn::Min(place, most));
    hn::StoreU(hn::DemoteTo(d_byte, hn::ConvertTo(d_int, within)), d_byte, to + i);
  }
  for (; i < count; ++i) {
    const float place = (elements[i] - bins.low) * bins.scale;
    to[i] =
        static_cast<uint8_t>(place > 0 ? std::min(place, static_cast<float>(bins.count - 1)) : 0);
  }
}

// Compares all bytes with each bin in turn: for a few bins that is faster than a counter in memory
// for each byte, which waits for the one before it wherever two neighbours are alike.
void count_by_comparing(const uint8_t* from, size_t count, uint32_t* counts, size_t bins) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bytes = hn::LoadU(d, from + i);
    for (size_t bin = 0; bin < bins; ++bin) {
      const auto is_there = hn::Eq(bytes, hn::Set(d, static_cast<uint8_t>(bin)));
      counts[bin] += static_cast<uint32_t>(hn::CountTrue(d, is_there));
    }
  }
  for (; i < count; ++i) ++counts[from[i]];
}

}  // namespace
}  // namespace shoal::delta::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::delta {
namespace {

HWY_EXPORT(bins_of_here);
HWY_EXPORT(count_by_comparing);

}  // namespace

void bins_of(std::span<const float> elements, const Bins& bins, std::span<uint8_t> to) {
  HWY_DYNAMIC_DISPATCH(bins_of_here)(elements.data(), elements.size(), bins, to.data());
}

void count_bins(std::span<const uint8_t> from, std::span<uint32_t> counts) {
  constexpr size_t kFewBins = 32;
  if (counts.size() <= kFewBins) {
    HWY_DYNAMIC_DISPATCH(count_by_comparing)
    (from.data(), from.size(), counts.data(), counts.size());
    return;
  }
  for (const uint8_t bin : from) ++counts[bin];
}

}  // namespace shoal::delta
#endif  // HWY_ONCE
