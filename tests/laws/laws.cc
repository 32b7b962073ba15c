#include "laws.h"

namespace shoal::laws {

Tensor random_tensor(Rng& rng, const Shape& shape, float low, float high) {
  std::uniform_real_distribution<float> uniform(low, high);
  Tensor tensor({DType::kF32, shape});
  for (float& x : tensor.data<float>()) x = uniform(rng);
  return tensor;
}

Tensor ints(std::vector<int64_t> values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

int64_t random_int(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

std::vector<int64_t> random_ints(Rng& rng, size_t count, int64_t low, int64_t high) {
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = random_int(rng, low, high);
  return values;
}

Shape random_shape(Rng& rng, size_t min_rank, size_t max_rank, int64_t max_dim) {
  Shape shape;
  const int64_t rank =
      random_int(rng, static_cast<int64_t>(min_rank), static_cast<int64_t>(max_rank));
  for (int64_t i = 0; i < rank; ++i) shape.push_back(random_int(rng, 1, max_dim));
  return shape;
}

std::vector<Source> sources() {
  std::vector<Source> all;
  auto append = [&](std::vector<Source> more) { all.insert(all.end(), more.begin(), more.end()); };
#define SHOAL_LAWS(family) append(family##_cases());
#include "list.inc"
#undef SHOAL_LAWS
  return all;
}

std::string describe(const Case& c) {
  std::string text;
  for (const Tensor& t : c.inputs) text += t.defined() ? to_string(t.type()) + " " : "- ";
  for (const auto& [key, value] : c.attributes) {
    text += key + "=";
    if (auto* i = std::get_if<int64_t>(&value)) text += std::to_string(*i);
    if (auto* s = std::get_if<std::string>(&value)) text += *s;
    if (auto* v = std::get_if<std::vector<int64_t>>(&value)) text += to_string(Shape(*v));
    text += " ";
  }
  return text;
}

void PrintTo(const Source& source, std::ostream* os) { *os << source.op->name; }

}  // namespace shoal::laws
