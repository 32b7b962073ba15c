// A data set of arrays that the caller has in memory.
#include <utility>
#include <vector>

#include "shoal/train/data/dataset.h"
#include "shoal/train/data/dataset_formats.h"

namespace shoal {
namespace {

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(Tensor images, std::vector<int64_t> labels)
      : images_(std::make_shared<const Tensor>(std::move(images))), labels_(std::move(labels)) {}

  size_t size() const override { return labels_.size(); }

  Result<Example> at(size_t index) const override {
    const Shape& all = images_->shape();  // [n, h, w, c]
    const TensorType type{DType::kU8, {all[1], all[2], all[3]}};
    const std::byte* first = images_->bytes().data() + index * type.bytes();
    return Example{Tensor::view(type, first, images_), labels_[index]};
  }

  std::string place(size_t index) const override {
    return "example " + std::to_string(index) + " of the array";
  }

 private:
  std::shared_ptr<const Tensor> images_;
  std::vector<int64_t> labels_;
};

}  // namespace

Status data::check_images(const TensorType& type) {
  const Shape& shape = type.shape;
  const bool grey = shape.rank() == 3, coloured = shape.rank() == 4;
  const bool some = (grey || coloured) && shape[1] > 0 && shape[2] > 0;
  const bool known = some && (grey || shape[3] == 1 || shape[3] == 3);
  if (type.dtype == DType::kU8 && known) return {};
  return invalid("should be u8 [n, h, w] or [n, h, w, c] of 1 or 3 channels, is " +
                 to_string(type));
}

Result<std::unique_ptr<Dataset>> make_array_dataset(const Tensor& images, const Tensor& labels) {
  const Shape& shape = images.shape();
  if (Status status = data::check_images(images.type()); !status.ok()) return status.at("images");
  if (!labels.defined() || labels.shape() != Shape{shape[0]} || !Ints::contains(labels.dtype())) {
    return invalid("labels should be " + std::to_string(shape[0]) + " integers, are " +
                   to_string(labels.type()));
  }
  std::vector<int64_t> classes;
  visit<Ints>(labels.dtype(), [&]<class T>() {
    for (T label : labels.data<T>()) classes.push_back(static_cast<int64_t>(label));
  });
  const int64_t channels = shape.rank() == 4 ? shape[3] : 1;
  return std::unique_ptr<Dataset>(std::make_unique<ArrayDataset>(
      images.reshaped({shape[0], shape[1], shape[2], channels}), std::move(classes)));
}

}  // namespace shoal
