#include "shoal/fit/feature_cache.h"

#include "shoal/data/prefetch.h"

namespace shoal::fit {
namespace {

// Examples in memory. Places are those of the original data set, so that messages name the same
// file.
class FeatureCache : public Dataset {
 public:
  FeatureCache(const Dataset& data, std::vector<Example> examples)
      : data_(data), examples_(std::move(examples)) {}

  size_t size() const override { return examples_.size(); }
  Result<Example> at(size_t index) const override { return examples_[index]; }
  std::string place(size_t index) const override { return data_.place(index); }

 private:
  const Dataset& data_;
  std::vector<Example> examples_;
};

// Row `index` of the features of a batch, as a batch of one.
Tensor row_of(const Tensor& batch, size_t index) {
  Region row = Region::whole(batch.shape());
  row.begin[0] = static_cast<int64_t>(index);
  row.end[0] = row.begin[0] + 1;
  return crop(batch, row);
}

}  // namespace

size_t feature_bytes(const Graph& body, size_t examples) {
  const TensorType& type = body[body.outputs()[0]].type;
  return type.bytes() / static_cast<size_t>(type.shape[0]) * examples;
}

Result<std::shared_ptr<const Dataset>> compute_features(Executable& body, const Dataset& data,
                                                        const Batches& batches) {
  std::vector<Example> examples;
  if (batches.per_epoch() > 0) {
    Prefetch prefetch(batches, 0, 0, 1, 2);
    std::vector<Tensor> outputs(1);
    for (size_t i = 0; i < batches.per_epoch(); ++i) {
      SHOAL_ASSIGN(const Batch batch, prefetch.next());
      SHOAL_TRY(body.run(std::span(&batch.images, 1), outputs, {}));
      // The rest of the last batch repeats earlier examples.
      for (size_t row = 0; row < batch.fresh; ++row) {
        examples.push_back({row_of(outputs[0], row), batch.labels.data<int64_t>()[row]});
      }
    }
  }
  return std::shared_ptr<const Dataset>(std::make_shared<FeatureCache>(data, std::move(examples)));
}

}  // namespace shoal::fit
