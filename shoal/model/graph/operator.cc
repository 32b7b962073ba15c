// The members of Attributes, compiled once here instead of in every source.
#include "shoal/model/graph/operator.h"

namespace shoal {

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<value_type> attributes) : map(attributes) {}
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

}  // namespace shoal
