// Data sets by the name of their format, and subsets of them.
#include "shoal/train/data/dataset.h"

#include <utility>

#include "shoal/train/data/dataset_formats.h"

namespace shoal {
namespace {

// Damage is not repeated: it is that of the whole, and shown once.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<size_t> indices)
      : whole_(std::move(whole)), indices_(std::move(indices)) {}

  size_t size() const override { return indices_.size(); }
  Result<Example> at(size_t index) const override { return whole_->at(indices_[index]); }
  std::string place(size_t index) const override { return whole_->place(indices_[index]); }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::vector<size_t> indices_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const std::filesystem::path& folder,
                                              std::string_view format, Split split,
                                              Damaged damaged) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return Status(Code::kNotFound, folder.string() + " is not a folder");
  }
  if (format == "idx") return data::open_idx(folder, split, damaged);
  if (format == "cifar") return data::open_cifar(folder, split, damaged);
  if (format == "npy") return data::open_npy(folder, split);
  if (format == "folder") return data::open_folder(folder, split);
  return invalid("unknown data format " + std::string(format) + "; use idx, cifar, npy or folder");
}

std::unique_ptr<Dataset> make_subset(std::shared_ptr<const Dataset> whole,
                                     std::vector<size_t> indices) {
  return std::make_unique<Subset>(std::move(whole), std::move(indices));
}

}  // namespace shoal
