#include "shoal/catalog/as_task.h"

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

}  // namespace shoal::catalog
