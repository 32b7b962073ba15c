#include "shoal/variants/catalog/specialists/preforward.h"

#include <chrono>
#include <cstdio>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/math/hash.h"
#include "shoal/train/data/safetensors.h"

namespace shoal::catalog {
namespace {

constexpr const char *kKey = "key", *kGeneral = "general";

bool fit_together(const fit::Features& features) {
  return features.values.dtype() == DType::kF32 && features.values.shape().rank() == 2 &&
         features.labels.type() == TensorType{DType::kI64, {features.values.shape()[0]}};
}

}  // namespace

Result<std::string> fingerprint_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::set<std::string> lines;  // in order, whatever the order of the folder
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    const auto size = entry->file_size(error);
    const auto changed = entry->last_write_time(error).time_since_epoch();
    lines.insert(entry->path().lexically_relative(folder).string() + " " + std::to_string(size) +
                 " " + std::to_string(changed.count()) + "\n");
  }
  if (error) return Status(Code::kNotFound, folder.string() + ": " + error.message());
  std::string text;
  for (const std::string& line : lines) text += line;
  return std::to_string(hash_of(std::as_bytes(std::span(text))));
}

std::filesystem::path file_for(const std::filesystem::path& cache, const std::string& key) {
  char name[48];
  std::snprintf(name, sizeof name, "%016llx.safetensors",
                static_cast<unsigned long long>(hash_of(std::as_bytes(std::span(key)))));
  return cache / name;
}

Status write_preforward(const std::filesystem::path& cache, const std::string& key,
                        const Preforward& preforward) {
  SHOAL_TRY(make_folder(cache));
  return write_safetensors(file_for(cache, key),
                           {.tensors = {{"training", preforward.training.values},
                                        {"training.labels", preforward.training.labels},
                                        {"held_out", preforward.held_out.values},
                                        {"held_out.labels", preforward.held_out.labels},
                                        {kGeneral, preforward.general}},
                            .metadata = {{kKey, key}}});
}

Result<Preforward> read_preforward(const std::filesystem::path& cache, const std::string& key) {
  const std::filesystem::path path = file_for(cache, key);
  SHOAL_ASSIGN(TensorFile file, read_safetensors(path));
  const Status corrupt(Code::kCorrupt, path.string() + ": no features, or those of another model");
  if (!file.checked || file.metadata[kKey] != key || file.tensors.size() != 5) return corrupt;
  const auto tensor = [&](const std::string& name) {
    const auto found = file.tensors.find(name);
    return found == file.tensors.end() ? Tensor({DType::kF32, {}}) : std::move(found->second);
  };
  Preforward all{{tensor("training"), tensor("training.labels")},
                 {tensor("held_out"), tensor("held_out.labels")},
                 tensor(kGeneral)};
  if (!fit_together(all.training) || !fit_together(all.held_out) ||
      all.general.type() != all.held_out.labels.type() ||
      all.training.values.shape()[1] != all.held_out.values.shape()[1]) {
    return corrupt;
  }
  return all;
}

}  // namespace shoal::catalog
