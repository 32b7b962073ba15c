// What was made, for scripts as an object, and for people as a table and lines below it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/variants/catalog/builder/build.h"
#include "shoal/variants/catalog/make_variants.h"
#include "shoal/variants/catalog/specialists/specialise.h"

namespace shoal::catalog {

// A row for each variant.
std::vector<Facts> rows_of(const std::vector<Variant>& variants);

Json to_json(const VariantsResult& result);
std::vector<Facts> rows_of(const VariantsResult& result);
std::vector<std::string> lines_of(const VariantsResult& result);

Json to_json(const BuildResult& result);
std::vector<Facts> rows_of(const BuildResult& result);
std::vector<std::string> lines_of(const BuildResult& result);

// Costs of the cascade are shares of the general network's.
Json to_json(const SpecialiseResult& result);
std::vector<Facts> rows_of(const SpecialiseResult& result);
std::vector<std::string> lines_of(const SpecialiseResult& result);

}  // namespace shoal::catalog
