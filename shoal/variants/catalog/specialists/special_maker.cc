#include "shoal/variants/catalog/specialists/special_maker.h"

#include <algorithm>
#include <utility>

#include "shoal/shrink/retraining/networks.h"
#include "shoal/variants/catalog/figures.h"
#include "shoal/variants/catalog/model_of.h"

namespace shoal::catalog {

Result<Variant> make_special(const shrink::ShrinkDevices& devices, const Model& widest,
                             const fit::JudgedData& data, std::string name,
                             const SpecialiseOptions& how,
                             const fit::TrainingCallbacks& callbacks) {
  SHOAL_ASSIGN(const SpecialiseResult made,
               specialise(devices.learns, widest, nullptr, data, how, callbacks));
  Variant variant{.name = std::move(name), .has_file = true};
  variant.special = Special{.classes = how.classes,
                            .threshold = made.threshold,
                            .falls = std::clamp(1 - made.cascade.share[0], 0.0, 1.0),
                            .precision = made.cascade.precision[0]};
  // As others will see it: from the file.
  SHOAL_ASSIGN(const Model file, open_model(how.out.string()));
  SHOAL_ASSIGN(variant.figures, costs_of(devices.runs, shrink::as_given(file)));
  variant.figures.top1 = made.cascade.top1;
  variant.figures.held_out_top1 = made.held_out.top1;
  return variant;
}

Status SpecialMaker::prepare() {
  if (device_ == nullptr) {
    SHOAL_ASSIGN(device_, options_.device());
  }
  if (!widest_) {
    SHOAL_ASSIGN(const Catalog catalog, read_catalog(options_.folder));
    SHOAL_ASSIGN(widest_, model_of(options_.folder, catalog.variants.at(0)));
  }
  if (!data_) {
    SHOAL_ASSIGN(data_, fit::open_judged_data(options_.how.recipe));
  }
  return {};
}

Result<Variant> SpecialMaker::make(std::vector<int64_t> classes, const std::filesystem::path& file,
                                   const std::atomic<bool>* cancel) {
  SHOAL_TRY(prepare());
  SpecialiseOptions how = options_.how;
  how.classes = std::move(classes);
  how.out = file;
  fit::TrainingCallbacks callbacks;
  callbacks.cancel = cancel;
  return make_special({*device_, *device_}, *widest_, *data_, "special", how, callbacks);
}

}  // namespace shoal::catalog
