// Random cases for the laws of model/graph/operator.h. Each family of operators has its own in
// tests/laws/<family>_cases.cc and is named in list.inc.
#pragma once

#include <functional>
#include <iosfwd>
#include <random>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::laws {

using Rng = std::mt19937;

// One node on concrete inputs. Inputs not given are undefined tensors.
struct Case {
  std::vector<Tensor> inputs;
  Attributes attributes = {};
  size_t outputs = 1;
};

// An operator and how to draw a case of it.
struct Source {
  const Operator* op;
  std::function<Case(Rng&)> draw;
};

Tensor random_tensor(Rng& rng, const Shape& shape, float low = -1, float high = 1);  // f32
Tensor ints(std::vector<int64_t> values);                 // i64, rank 1: axes, shapes
int64_t random_int(Rng& rng, int64_t low, int64_t high);  // both ends included
std::vector<int64_t> random_ints(Rng& rng, size_t count, int64_t low, int64_t high);
Shape random_shape(Rng& rng, size_t min_rank, size_t max_rank, int64_t max_dim = 5);

#define SHOAL_LAWS(family) std::vector<Source> family##_cases();
#include "list.inc"
#undef SHOAL_LAWS

std::vector<Source> sources();  // of all families
std::string describe(const Case& c);
void PrintTo(const Source& source, std::ostream* os);

// Each law is tested on the operators that claim it.
template <class Claim>
std::vector<Source> claiming(Claim claim) {
  std::vector<Source> all = sources();
  std::erase_if(all, [&](const Source& source) { return !claim(*source.op); });
  return all;
}

}  // namespace shoal::laws
