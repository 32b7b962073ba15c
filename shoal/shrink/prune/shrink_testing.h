// A run of shrink() for the tests of this part: fit's tiny network and images.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/files/file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/onnx/export/export.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::shrink {

// A network as a file in memory.
inline Model model_of(const Graph& network) {
  auto bytes = std::make_shared<std::vector<std::byte>>(*onnx::to_onnx(network));
  auto model = parse_model(bytes, *bytes);
  SHOAL_CHECK(model.ok());
  return *std::move(model);
}

class Shrinking : public ::testing::Test {
 public:
  static constexpr size_t kBatch = 10;

 protected:
  using Rows = fit::testing::Rows;

  static ShrinkOptions options() {
    ShrinkOptions options{.target = {.macs = 0.5}, .recipe = usual_recipe()};
    options.recipe.epochs = 6;
    options.recipe.batch = kBatch;
    options.recipe.optimizer.rate = 0.05F;
    options.measure_seconds = 0;
    options.refit = false;  // the network is random: nothing is lost that would be worth having
    return options;
  }
  Result<ShrinkResult> run(const ShrinkOptions& options, const ShrinkCallbacks& callbacks = {}) {
    return shrink({*device_, *device_}, model_, data_, options, callbacks);
  }
  // The bytes of the file at out_.
  std::string written() const {
    const auto file = MappedFile::open(out_);
    if (!file.ok()) return "";
    const auto bytes = (*file)->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::unique_ptr<Device> device_ = make_reference_device();
  const Model model_ = model_of(fit::testing::make_network(1));  // 8 hidden units, for one image
  const fit::JudgedData data_ = {{std::make_shared<Rows>(200, 1), std::make_shared<Rows>(40, 2)},
                                 std::make_shared<Rows>(100, 3)};
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
  const std::filesystem::path out_ = temporary_->path() / "small.onnx";
};

}  // namespace shoal::shrink
