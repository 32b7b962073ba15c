// Inputs that are steps of the same length. Byte by byte, a mutation would mostly turn a
// conversation into nonsense; steps that are copied, moved and removed remain meaningful.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace shoal {

template <size_t kStepBytes>
class StepMutator {
 public:
  StepMutator(std::span<const uint8_t> input, unsigned seed) : random_(seed) {
    for (size_t at = 0; at < input.size(); at += kStepBytes) {
      const auto bytes = input.subspan(at, std::min(kStepBytes, input.size() - at));
      std::ranges::copy(bytes, steps_.emplace_back().begin());
    }
    if (steps_.empty()) steps_.emplace_back();
  }

  void mutate() {
    switch (below(8)) {
      case 0:
        steps_.insert(place(), Step(*place()));
        return;
      case 1:
        std::iter_swap(place(), place());
        return;
      case 2:
        if (steps_.size() > 1) steps_.erase(place());
        return;
      case 3:
        return mutate(*place());
      default:
        return decide(*place());
    }
  }

  // Returns how many bytes were written.
  size_t write(std::span<uint8_t> to) const {
    const size_t bytes = std::min(to.size(), steps_.size() * kStepBytes);
    std::memcpy(to.data(), steps_.data(), bytes);
    return bytes;
  }

 private:
  using Step = std::array<uint8_t, kStepBytes>;

  static void mutate(Step& step) {
    const size_t size = LLVMFuzzerMutate(step.data(), kStepBytes, kStepBytes);
    std::fill(step.begin() + static_cast<ptrdiff_t>(size), step.end(), uint8_t{0});
  }
  // Most decisions have few outcomes, and most steps few decisions.
  void decide(Step& step) { step[below(1 + below(kStepBytes))] = static_cast<uint8_t>(below(24)); }

  size_t below(size_t n) { return random_() % n; }
  auto place() { return steps_.begin() + static_cast<ptrdiff_t>(below(steps_.size())); }

  std::mt19937 random_;
  std::vector<Step> steps_;
};

}  // namespace shoal
