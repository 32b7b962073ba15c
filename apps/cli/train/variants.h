// shoal shrink --variants: a catalog of widths that share their weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../cli.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/catalog/catalog.h"
#include "shoal/fit/training_data.h"
#include "shoal/models/model.h"
#include "shoal/shrink/shrink.h"

namespace shoal::cli {

// Variants as commands print them.
Json json_of(const std::vector<catalog::Variant>& variants);
Table table_of(const std::vector<catalog::Variant>& variants);
double ratio(int64_t a, int64_t b);  // 0 where there is no b

// Writes `count` variants to the folder options.out, and prints them as a table or JSON.
Outcome make_and_print_variants(const shrink::ShrinkDevices& devices, const Model& model,
                                const fit::JudgedData& data, size_t count,
                                const shrink::ShrinkOptions& options, bool json);

}  // namespace shoal::cli
