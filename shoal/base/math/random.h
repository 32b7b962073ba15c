// Random numbers as a function of where they are wanted: fast, and the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace shoal {

// An endless sequence of random words with random access. Streams of different seeds or numbers
// have nothing in common.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t number) : key_(mix(mix(seed) + number)) {}

  uint64_t operator[](uint64_t i) const { return mix(key_ + i * kStep); }

  // Word i as a number below `bound`, all but equally likely.
  uint64_t below(uint64_t bound, uint64_t i) const { return (*this)[i] % bound; }

  // A separate stream for every number: for each epoch, and in it for each image.
  RandomStream child(uint64_t number) const { return {key_, number}; }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, made odd

  // SplitMix64's finaliser: every bit of the result depends on every bit of x.
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  uint64_t key_;
};

// Nearly normal, within 3.5 deviations of zero: a sum of four uniform numbers.
void fill_normal(std::span<float> elements, RandomStream stream, double deviation);

// Uniform on 256 steps from low to below high.
void fill_uniform(std::span<float> elements, RandomStream stream, float low, float high);

}  // namespace shoal
