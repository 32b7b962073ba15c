#include "shoal/variants/catalog/model_of.h"

#include "shoal/base/files/temporary_folder.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::catalog {

Result<Model> model_of(const std::filesystem::path& folder, const Variant& variant) {
  if (variant.has_file) return open_model((folder / (variant.name + ".onnx")).string());
  if (variant.widths.empty()) return open_model((folder / "largest.onnx").string());
  SHOAL_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::make());
  const auto file = temporary.path() / (variant.name + ".onnx");
  SHOAL_TRY(fit::export_network([&](int64_t batch) { return open_variant(folder, variant, batch); },
                                file));
  return open_model(file.string());  // the mapping outlives the name
}

}  // namespace shoal::catalog
