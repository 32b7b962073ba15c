#include "shoal/variants/catalog/builder/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/variants/catalog/catalog.h"
#include "shoal/variants/catalog/specialists/specialise.h"

namespace shoal::catalog {
namespace {

using Names = std::vector<std::string>;

class Building : public shrink::Shrinking {
 protected:
  BuildOptions build_options() const {
    BuildOptions all{.widths = 3, .shrink = options(), .out = folder()};
    VariantRecipe small{.name = "small", .by = Making::kShrink, .shrink = options()};
    small.shrink.target.macs = 0.3;
    VariantRecipe few{.name = "few", .by = Making::kSpecialise};
    few.special.classes = {0, 1};
    few.special.at = "head";
    few.special.recipe = options().recipe;
    all.variants = {small, {.name = "v0-int8", .by = Making::kInt8}, few};
    return all;
  }
  Result<BuildResult> build(const BuildOptions& options,
                            const shrink::ShrinkCallbacks& callbacks = {}) {
    return catalog::build({*device_, *device_}, model_, data_, options, callbacks);
  }
  std::filesystem::path folder() const { return temporary_->path() / "task"; }
};

// A copy of the folder is all there is: every variant of it opens, costs and answers as it says.
TEST_F(Building, MakesAFolderThatCanBeCopied) {
  const auto built = build(build_options());
  ASSERT_TRUE(built.ok()) << built.status().message();
  const auto copied = temporary_->path() / "copy";
  std::filesystem::copy(folder(), copied, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(folder());
  std::filesystem::remove_all(folder().string() + ".steps");
  const auto read = read_catalog(copied);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->variants, built->catalog.variants);
  EXPECT_EQ(read->variants.size() + built->dominated.size(), 6u);
  for (const Variant& variant : read->variants) {
    const auto network = [&](int64_t batch) { return open_variant(copied, variant, batch); };
    const auto graph = network(1);
    ASSERT_TRUE(graph.ok()) << variant.name << graph.status().message();
    EXPECT_EQ(parameters(graph->graph), variant.figures.size.parameters) << variant.name;
    const auto model = model_of(copied, variant);
    ASSERT_TRUE(model.ok()) << variant.name << model.status().message();
    EXPECT_EQ(parameters(model->graph()->graph), variant.figures.size.parameters) << variant.name;
    if (variant.special) continue;
    EXPECT_EQ(*shrink::top1_of(*device_, network, *data_.test, options().recipe),
              variant.figures.top1);
  }
  EXPECT_EQ(without_dominated(read->variants), read->variants);
}

TEST_F(Building, KnowsWhatASpecialNetworkIs) {
  BuildOptions all = build_options();
  all.widths = 0;
  all.variants.erase(all.variants.begin(), all.variants.begin() + 2);
  const auto built = build(all);
  ASSERT_TRUE(built.ok()) << built.status().message();
  ASSERT_EQ(built->catalog.variants.size(), 2u);
  const Variant& few = built->catalog.variants[1];
  ASSERT_TRUE(few.special.has_value());
  EXPECT_EQ(few.special->classes, (std::vector<int64_t>{0, 1}));
  EXPECT_LE(few.special->falls, 1);
  EXPECT_EQ(few.method, "specialise 0,1");
}

// What was made with the same settings is not made again, and the catalog is the same.
TEST_F(Building, MakesOnlyWhatIsMissing) {
  BuildOptions all = build_options();
  const auto first = build(all);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->kept, Names());
  const auto again = build(all);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->kept, (Names{"widths", "small", "v0-int8", "few"}));
  EXPECT_EQ(again->catalog.variants, first->catalog.variants);
  EXPECT_EQ(again->dominated, first->dominated);
  all.variants[0].shrink.target.macs = 0.4;
  all.variants.pop_back();
  const auto changed = build(all);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed->kept, (Names{"widths", "v0-int8"}));
  EXPECT_FALSE(std::filesystem::exists(folder() / "few.onnx"));
}

TEST_F(Building, GoesOnAfterAnInterruption) {
  std::atomic<bool> cancel = false;
  const shrink::ShrinkCallbacks ends{
      .on_note = [&](const std::string& note) { cancel = cancel || note == "makes small"; },
      .cancel = &cancel};
  EXPECT_EQ(build(build_options(), ends).status().code(), Code::kCancelled);
  EXPECT_EQ(read_catalog(folder()).status().code(), Code::kNotFound);
  const auto built = build(build_options());
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->kept, Names{"widths"});
}

// A network is made of a catalog's widest variant for classes that are seen later, and again for
// others with the features that are kept.
TEST_F(Building, HasSpecialNetworksMadeLater) {
  BuildOptions all = build_options();
  all.variants.clear();
  ASSERT_TRUE(build(all).ok());
  SpecialMakerOptions options{.folder = folder(), .how = {}, .data = data_};
  options.how.at = "head";
  options.how.recipe = all.shrink.recipe;
  options.how.recipe.loss.distill = 0;
  int devices = 0;
  options.device = [&]() -> Result<std::unique_ptr<Device>> {
    ++devices;
    return make_reference_device();
  };
  SpecialMaker maker(options);
  for (const std::vector<int64_t>& classes : {std::vector<int64_t>{0, 1}, {2}}) {
    const auto file = folder() / "now.onnx";
    const auto result = maker.make(classes, file);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(result->special.has_value());
    EXPECT_EQ(result->special->classes, classes);
    EXPECT_GT(result->figures.millijoules, 0);
    EXPECT_TRUE(open_model(file.string()).ok());
  }
  EXPECT_EQ(devices, 1);
  const std::atomic<bool> cancel = true;
  EXPECT_EQ(maker.make({0}, folder() / "no.onnx", &cancel).status().code(), Code::kCancelled);
}

TEST_F(Building, RefusesWhatItCannotDo) {
  const std::vector<std::function<void(BuildOptions&)>> changes = {
      [](BuildOptions& o) { o.out.clear(); },
      [](BuildOptions& o) { o.variants[0].name = "../small"; },
      [](BuildOptions& o) { o.variants[0].name = "largest"; },
      [](BuildOptions& o) { o.variants[0].name = "v1"; },
      [](BuildOptions& o) { o.variants[0].name = "few"; },
      [](BuildOptions& o) { o.shrink.target.macs = -1; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    BuildOptions all = build_options();
    changes[i](all);
    EXPECT_EQ(build(all).status().code(), Code::kInvalidArgument) << i;
  }
  BuildOptions of_nobody = build_options();
  of_nobody.widths = 0;
  of_nobody.variants = {{.name = "eight", .by = Making::kInt8, .of = "v7"}};
  EXPECT_EQ(build(of_nobody).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::catalog
