#include "shoal/video/query/classifier.h"

#include <utility>

namespace shoal::query {

Result<Classifier> Classifier::open(const Model& model, Device& device,
                                    const Preprocess& preprocess) {
  SHOAL_ASSIGN(const std::vector<TensorInfo> inputs, model.inputs());
  if (inputs.size() != 1 || !inputs[0].dims) return invalid("a classifier takes one image");
  Classifier made(inputs[0], preprocess);
  SHOAL_ASSIGN(const std::vector<exits::Exit> exits, exits::exits_in(model.properties()));
  if (exits.empty()) {
    SHOAL_ASSIGN(Session session, model.session(device));
    if (session.outputs().size() != 1) return invalid("a classifier has one output");
    made.session_.emplace(std::move(session));
    return made;
  }
  SHOAL_ASSIGN(exits::Runner runner, exits::Runner::create(device, exits::multi_exit_in(model)));
  made.runner_.emplace(std::move(runner));
  return made;
}

Result<ExitScores> Classifier::scores(const Tensor& image) {
  SHOAL_ASSIGN(const Tensor input, image_for_input(image, *input_.dims, preprocess_));
  ExitScores all;
  const auto add = [&](const Tensor& row) -> Status {
    if (row.dtype() != DType::kF32) return invalid("scores are f32");
    const auto elements = row.data<float>();
    all.emplace_back(elements.begin(), elements.end());
    return {};
  };
  if (session_) {
    Tensor row;
    SHOAL_TRY(session_->run(std::span(&input, 1), std::span(&row, 1)));
    SHOAL_TRY(add(row));
    return all;
  }
  SHOAL_ASSIGN(exits::Progress progress, runner_->start(input));
  while (progress.next < runner_->stage_macs().size()) {
    SHOAL_ASSIGN(const Tensor row, runner_->advance(progress));
    SHOAL_TRY(add(row));
  }
  return all;
}

}  // namespace shoal::query
