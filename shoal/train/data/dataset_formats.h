// One function per data set format; open_dataset() chooses.
#pragma once

#include "shoal/train/data/dataset.h"

namespace shoal::data {

using Opened = Result<std::unique_ptr<Dataset>>;

Opened open_idx(const std::filesystem::path& folder, Split split, Damaged damaged);
Opened open_cifar(const std::filesystem::path& folder, Split split, Damaged damaged);
Opened open_npy(const std::filesystem::path& folder, Split split);
Opened open_folder(const std::filesystem::path& folder, Split split);

// OK iff this is the type of images of one size: u8 [n, h, w] or [n, h, w, c], c being 1 or 3.
Status check_images(const TensorType& type);

}  // namespace shoal::data
