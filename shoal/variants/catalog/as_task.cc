#include "shoal/variants/catalog/as_task.h"

#include <set>
#include <utility>

namespace shoal::catalog {

schedule::Task as_task(const Catalog& catalog, std::string name) {
  schedule::Task task;
  task.name = std::move(name);
  const VariantFigures& widest = catalog.variants.at(0).figures;
  for (const Variant& variant : catalog.variants) {
    const VariantFigures& figures = variant.figures;
    schedule::Option option{.variant = variant.name,
                            .accuracy = figures.top1 / 100,
                            .ms = figures.ms,
                            .joules = figures.millijoules / 1e3,
                            .bytes = figures.memory};
    if (variant.special) {
      option.accuracy = variant.special->precision / 100;
      option.fallback = schedule::Fallback{.share = variant.special->falls,
                                           .accuracy = widest.top1 / 100,
                                           .ms = widest.ms,
                                           .joules = widest.millijoules / 1e3};
    }
    task.options.push_back(std::move(option));
  }
  return task;
}

std::vector<std::filesystem::path> catalogs_in(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder / "index.json", error)) return {folder};
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(entry.path() / "index.json", error)) folders.insert(entry.path());
  }
  return {folders.begin(), folders.end()};
}

std::string task_name(const std::filesystem::path& folder) {
  return std::filesystem::absolute(folder / "").lexically_normal().parent_path().stem().string();
}

}  // namespace shoal::catalog
