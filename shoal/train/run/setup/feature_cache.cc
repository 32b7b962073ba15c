#include "shoal/train/run/setup/feature_cache.h"

#include <cstring>

namespace shoal::fit {
namespace {

// Places are those of the original data set, so that messages name the same file.
class FeatureCache : public Dataset {
 public:
  FeatureCache(const Dataset& data, Features features)
      : data_(data),
        values_(std::make_shared<const Tensor>(std::move(features.values))),
        labels_(std::move(features.labels)),
        row_(values_->type()) {
    row_.shape[0] = 1;
  }

  size_t size() const override { return static_cast<size_t>(labels_.count()); }
  // A view: a head learns in less time than it takes to copy its examples.
  Result<Example> at(size_t index) const override {
    const std::byte* const row = values_->bytes().data() + index * row_.bytes();
    return Example{Tensor::view(row_, row, values_), labels_.data<int64_t>()[index]};
  }
  std::string place(size_t index) const override { return data_.place(index); }

 private:
  const Dataset& data_;
  const std::shared_ptr<const Tensor> values_;
  const Tensor labels_;
  TensorType row_;  // of values
};

}  // namespace

size_t feature_bytes(const Graph& body, size_t examples) {
  const TensorType& type = body[body.outputs()[0]].type;
  return type.bytes() / static_cast<size_t>(type.shape[0]) * examples;
}

Result<Features> compute_features(Executable& body, const Batches& batches, size_t examples) {
  TensorType type = body.graph()[body.graph().outputs()[0]].type;
  const size_t row_bytes = type.bytes() / static_cast<size_t>(type.shape[0]);
  type.shape[0] = static_cast<int64_t>(examples);
  Features all{Tensor::uninitialized(type), Tensor({DType::kI64, {type.shape[0]}})};
  if (examples == 0) return all;
  Prefetch prefetch(batches, 0, 0, 1, 2);
  std::vector<Tensor> outputs(1);
  for (size_t i = 0, row = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(body.run(std::span(&batch.images, 1), outputs, {}));
    // The rest of the last batch repeats earlier examples.
    std::memcpy(all.values.bytes().data() + row * row_bytes, outputs[0].bytes().data(),
                batch.fresh * row_bytes);
    for (size_t k = 0; k < batch.fresh; ++k) {
      all.labels.data<int64_t>()[row++] = batch.labels.data<int64_t>()[k];
    }
  }
  return all;
}

std::shared_ptr<const Dataset> features_as_data(const Dataset& data, Features features) {
  return std::make_shared<FeatureCache>(data, std::move(features));
}

}  // namespace shoal::fit
