#include "shoal/engine/run/builtin_samples.h"

#include "shoal/engine/inputs/image.h"
#include "shoal/model/zoo/embedded.h"

namespace shoal::fit {

Result<std::vector<ClassifiedSample>> classify_samples(Session& session) {
  const InputInfo input = session.inputs()[0];
  std::vector<ClassifiedSample> classified;
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    SHOAL_ASSIGN(const Tensor image, parse_image(sample.png));
    SHOAL_ASSIGN(const Tensor x, image_for_input(image, input.dims, {}));
    SHOAL_ASSIGN(const auto outputs, session.run({{input.name, x}}));
    const auto scores = outputs.begin()->second.data<float>();
    classified.push_back({sample.name, top_classes(scores, 1).at(0)});
  }
  return classified;
}

std::vector<Facts> rows_of(const std::vector<ClassifiedSample>& samples) {
  std::vector<Facts> rows;
  for (const auto& [name, best] : samples) {
    rows.push_back({{"image", std::string(name), "image"},
                    {"digit", best.index, "digit"},
                    {"share", static_cast<float>(best.probability), "share",
                     fixed(100.0 * best.probability, 1) + " %"}});
  }
  return rows;
}

}  // namespace shoal::fit
