#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "shoal/engine/cpu/tune.h"

namespace shoal::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAlignment = 64;

}  // namespace

Tensor made_up(const TensorType& type) {
  Tensor tensor(type);
  if (type.dtype == DType::kF32) {
    std::minstd_rand rng(1);
    for (float& x : tensor.data<float>()) x = static_cast<float>(rng() % 256) / 256;
  }
  return tensor;
}

Trial::Trial(const KernelSpec& spec, std::span<uint8_t> others) : all_(spec.pool), others_(others) {
  for (const Operand& input : spec.inputs) {
    is_constant_.push_back(input.value != nullptr);
    inputs_.push_back(!input.given             ? Tensor()
                      : input.value != nullptr ? *input.value
                                               : made_up(input.type));
  }
  for (const TensorType& type : spec.outputs) outputs_.emplace_back(type);
}

double Trial::microseconds(const Kernel& kernel, ThreadPool& pool) {
  scratch_.resize(std::max(scratch_.size(), kernel.scratch_bytes() + kAlignment));
  void* at = scratch_.data();
  size_t room = scratch_.size();
  std::align(kAlignment, kernel.scratch_bytes(), at, room);
  const KernelArgs args{inputs_, outputs_, static_cast<std::byte*>(at), pool};
  prepare_caches();
  const auto begin = Clock::now();
  kernel.run(args);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Every thread has caches of its own. The node before this one has just written what it reads.
void Trial::prepare_caches() {
  const auto threads = static_cast<size_t>(all_.threads());
  all_.parallel_for(all_.threads(), [&](int64_t thread, int) {
    const size_t begin = others_.size() * static_cast<size_t>(thread) / threads;
    const size_t end = others_.size() * static_cast<size_t>(thread + 1) / threads;
    for (size_t i = begin; i < end; i += kAlignment) others_[i] += 1;
  });
  uint8_t sum = 0;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    if (is_constant_[k] || !inputs_[k].defined()) continue;
    const std::span<const std::byte> bytes = inputs_[k].bytes();
    for (size_t i = 0; i < bytes.size(); i += kAlignment) sum += static_cast<uint8_t>(bytes[i]);
  }
  others_[0] += sum;  // so that it is not left out
}

}  // namespace shoal::cpu
