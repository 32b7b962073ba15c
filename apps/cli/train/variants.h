// shoal shrink --variants: a catalog of widths that share their weights.
#pragma once

#include <cstddef>

#include "../cli.h"
#include "shoal/fit/training_data.h"
#include "shoal/models/model.h"
#include "shoal/shrink/shrink.h"

namespace shoal::cli {

// Writes `count` variants to the folder options.out, and prints them as a table or JSON.
Outcome make_and_print_variants(const shrink::ShrinkDevices& devices, const Model& model,
                                const fit::JudgedData& data, size_t count,
                                const shrink::ShrinkOptions& options, bool json);

}  // namespace shoal::cli
