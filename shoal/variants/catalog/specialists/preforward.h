// Pre-forward [Han 2016]: what a frozen body makes of all examples, and what the general network
// answers to those that calibrate, computed once and stored. A head for other classes then needs no
// run of either.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/run/setup/feature_cache.h"

namespace shoal::catalog {

struct Preforward {
  fit::Features training, held_out;
  Tensor general;  // i64 [held-out examples]: the class that the general network answers
};

// A text that differs when a file in the folder does: names, sizes and times of last change. Fails
// as the folder does.
Result<std::string> fingerprint_of(const std::filesystem::path& folder);

// The file in a cache folder for this key.
std::filesystem::path file_for(const std::filesystem::path& cache, const std::string& key);

// Writes, and reads back; kNotFound where there is no file for the key, kCorrupt where it is
// damaged or of another key.
Status write_preforward(const std::filesystem::path& cache, const std::string& key,
                        const Preforward& preforward);
Result<Preforward> read_preforward(const std::filesystem::path& cache, const std::string& key);

}  // namespace shoal::catalog
