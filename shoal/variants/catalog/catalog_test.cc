#include "shoal/variants/catalog/catalog.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/graph/text.h"
#include "shoal/shrink/compress/units/compress_testing.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/exits/network/exits_testing.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/variants/catalog/as_task.h"
#include "shoal/variants/catalog/make_variants.h"
#include "shoal/variants/catalog/sandwich.h"

namespace shoal::catalog {
namespace {

using compress::Widths;

Variant variant(std::string name, double held_out, int64_t macs, int64_t bytes) {
  return {.name = std::move(name),
          .widths = {},
          .figures = {.top1 = held_out - 1,
                      .held_out_top1 = held_out,
                      .size = {.macs = macs, .parameters = bytes / 4, .bytes = bytes},
                      .memory = 2 * bytes}};
}

TEST(Catalog, LeavesDominatedVariantsOut) {
  const Variant widest = variant("v0", 90, 100, 100), better = variant("v1", 91, 50, 50),
                worse = variant("v2", 90.5, 60, 40), beaten = variant("v3", 90, 60, 60);
  EXPECT_EQ(without_dominated({widest, better, worse, beaten}),
            (std::vector<Variant>{widest, better, worse}));
}

// A time that was measured counts, but not its noise; a special network is compared with none.
TEST(Catalog, ComparesTimesWhereTheyWereMeasured) {
  Variant widest = variant("v0", 90, 100, 100), small = variant("v1", 90, 50, 50),
          fast = variant("v2", 90, 60, 60);
  widest.figures.ms = 3, small.figures.ms = 2, fast.figures.ms = 1.8;
  EXPECT_EQ(without_dominated({widest, small, fast}), (std::vector<Variant>{widest, small, fast}));
  fast.figures.ms = 1.95;
  EXPECT_EQ(without_dominated({widest, small, fast}), (std::vector<Variant>{widest, small}));
  fast.has_file = true;
  fast.special = Special{.classes = {1}};
  EXPECT_EQ(without_dominated({widest, small, fast}), (std::vector<Variant>{widest, small, fast}));
}

TEST(Catalog, EnergyGrowsWithWorkAndMemory) {
  EXPECT_NEAR(millijoules_of({.macs = 1'000'000}, 0, 1'000'000), 0.3e-3, 1e-12);
  EXPECT_NEAR(millijoules_of({.macs = 1'000'000}, 0), 4.6e-3, 1e-12);
  EXPECT_NEAR(millijoules_of({}, 1'000'000), 0.16, 1e-12);
}

// The law of nesting on random networks with residual sums, concatenations and norms: all units in
// another order answer the same.
TEST(Nesting, OfRandomNetworksKeepsTheAnswers) {
  const auto device = make_reference_device();
  for (uint64_t seed = 0; seed < 15; ++seed) {
    const Graph network = exits::testing::RandomNetwork(seed, 2).graph();
    const auto groups = compress::find_groups(network);
    ASSERT_TRUE(groups.ok()) << groups.status().message();
    const auto ordered =
        compress::nested(network, *groups, compress::random_worth(*groups, seed + 1));
    ASSERT_TRUE(ordered.ok()) << ordered.status().message();
    std::mt19937 rng(static_cast<uint32_t>(seed));
    const auto inputs = random_inputs(network, rng);
    EXPECT_LE(relative_error(*compress::answers(*ordered, inputs, *device),
                             *compress::answers(network, inputs, *device)),
              1e-5);
  }
}

class Folder : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(temporary_.ok()); }
  Status write(const std::string& index) { return write_file(path() / "index.json", index); }
  std::filesystem::path path() const { return temporary_->path(); }
  std::string index() const {
    const auto file = MappedFile::open(path() / "index.json");
    const auto bytes = (*file)->bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  const Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
};

TEST_F(Folder, OfCatalogsNamesTasks) {
  EXPECT_TRUE(catalogs_in(path()).empty());
  for (const char* name : {"b.variants", "a", "none"}) {
    ASSERT_TRUE(make_folder(path() / name).ok());
    if (std::string_view(name) == "none") continue;
    ASSERT_TRUE(write_file(path() / name / "index.json", "{}").ok());
  }
  const std::vector<std::filesystem::path> both = {path() / "a", path() / "b.variants"};
  EXPECT_EQ(catalogs_in(path()), both);
  EXPECT_EQ(task_name(both[1]), "b");
  EXPECT_EQ(task_name(both[0] / ""), "a");
  ASSERT_TRUE(write("{}").ok());
  EXPECT_EQ(catalogs_in(path()), std::vector{path()}) << "is one itself";
  EXPECT_TRUE(catalogs_in(path() / "nowhere").empty());
}

TEST_F(Folder, IndexIsReadAsItWasWritten) {
  Catalog catalog{{variant("v0", 90, 100, 100), variant("v1", 80, 50, 50)}};
  catalog.variants[1].widths = {{"fc1.weight:0:0", 3}};
  catalog.variants.push_back(variant("few", 70, 40, 40));
  catalog.variants[2].method = "specialise 1,2";
  catalog.variants[2].has_file = true;
  catalog.variants[2].special =
      Special{.classes = {1, 2}, .threshold = 0.75, .falls = 0.125, .precision = 98.5};
  ASSERT_TRUE(write_catalog(path(), catalog, {{}, {}, {}}).ok());
  const auto read = read_catalog(path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->variants, catalog.variants);
}

TEST_F(Folder, HostileIndicesAreRefused) {
  Catalog catalog{{variant("v0", 90, 100, 100), variant("v1", 80, 50, 50)}};
  ASSERT_TRUE(write_catalog(path(), catalog, {{}, {}}).ok());
  const std::string good = index();
  const std::pair<const char*, const char*> changes[] = {
      {"\"v1\"", "\"v0\""},
      {"\"v1\"", "\"../v1\""},
      {"\"v1\"", "\"\""},
      {"\"v1\"", "7"},
      {"\"macs\": 50", "\"macs\": -50"},
      {"\"top1\": 79", "\"top1\": 180"},
      {"\"top1\": 79", "\"top1\": null"},
      {"\"format\": 2", "\"format\": 3"},
      {"\"widths\": {}", "\"widths\": {\"a:0:0\": 1}"},
      {"\"widths\": {}", "\"widths\": 3"},
      {"\"widths\": {}", "\"widths\": {}, \"file\": \"v0.onnx\""},
      {"\"widths\": {}", "\"widths\": {}, \"special\": {}"},
      {"{", "["}};
  for (const auto& [from, to] : changes) {
    std::string bad = good;
    const size_t place = bad.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    bad.replace(place, std::string(from).size(), to);
    ASSERT_TRUE(write(bad).ok());
    EXPECT_EQ(read_catalog(path()).status().code(), Code::kCorrupt) << to;
  }
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2),
                                 std::string("{\"format\": 2, \"variants\": []}")}) {
    ASSERT_TRUE(write(bad).ok());
    EXPECT_EQ(read_catalog(path()).status().code(), Code::kCorrupt) << bad;
  }
}

TEST_F(Folder, WithoutAnIndexIsNotFound) {
  EXPECT_EQ(read_catalog(path()).status().code(), Code::kNotFound);
}

class Variants : public shrink::Shrinking {
 protected:
  static constexpr size_t kCount = 3;

  Result<VariantsResult> make(shrink::ShrinkOptions options) {
    options.out = folder();
    return make_variants({*device_, *device_}, model_, data_, kCount, options);
  }
  std::filesystem::path folder() const { return temporary_->path() / "variants"; }
  static int64_t macs_of(const Graph& graph) {
    int64_t all = 0;
    for (const Node& node : graph.nodes()) all += macs(graph, node);
    return all;
  }
};

TEST_F(Variants, AreWrittenAsTheyWereJudged) {
  const auto result = make(options());
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto read = read_catalog(folder());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->variants, result->catalog.variants);
  EXPECT_EQ(read->variants.size() + result->dominated.size(), kCount);
  for (const Variant& variant : read->variants) {
    const auto network = [&](int64_t batch) { return open_variant(folder(), variant.name, batch); };
    const auto graph = network(1);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_EQ(macs_of(graph->graph), variant.figures.size.macs);
    EXPECT_EQ(parameters(graph->graph), variant.figures.size.parameters);
    EXPECT_EQ(*shrink::top1_of(*device_, network, *data_.test, options().recipe),
              variant.figures.top1);
    EXPECT_GT(variant.figures.top1, 80) << variant.name;
  }
  EXPECT_LE(read->variants.back().figures.size.macs, read->variants[0].figures.size.macs);
  EXPECT_EQ(open_variant(folder(), "v9").status().code(), Code::kNotFound);
}

TEST_F(Variants, OfTheSameSeedAreTheSame) {
  const auto text = [&] {
    EXPECT_TRUE(make(options()).ok());
    std::string all;
    for (const char* name : {"v0", "v2"}) {
      const auto graph = open_variant(folder(), name);
      if (graph.ok()) all += to_text(graph->graph);
    }
    return all;
  };
  const std::string first = text();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(text(), first);
}

// A width or a part of its own that is not the network's.
TEST_F(Variants, OfAnotherNetworkAreRefused) {
  ASSERT_TRUE(make(options()).ok());
  Catalog catalog = *read_catalog(folder());
  Variant& last = catalog.variants.back();
  ASSERT_FALSE(last.widths.empty());
  std::vector<OwnParts> own(catalog.variants.size());
  const Widths good = last.widths;
  for (const Widths& bad : {Widths{{good.begin()->first, 1000}}, Widths{{"nobody:0:0", 1}}}) {
    last.widths = bad;
    ASSERT_TRUE(write_catalog(folder(), catalog, own).ok());
    EXPECT_EQ(open_variant(folder(), last.name).status().code(), Code::kInvalidArgument);
  }
  last.widths = good;
  own.back()["fc1.bias"] = Tensor({DType::kF32, {77}});
  ASSERT_TRUE(write_catalog(folder(), catalog, own).ok());
  EXPECT_EQ(open_variant(folder(), last.name).status().code(), Code::kInvalidArgument);
}

TEST_F(Variants, RefuseWhatTheyCannotDo) {
  using Options = shrink::ShrinkOptions;
  const std::vector<std::function<void(Options&)>> changes = {
      [](Options& o) { o.max_drop = 1; },
      [](Options& o) { o.int8 = true; },
      [](Options& o) { o.controls = true; },
      [](Options& o) { o.sensitivity = true; },
      [](Options& o) { o.importance = shrink::Importance::kLasso; },
      [](Options& o) { o.importance = shrink::Importance::kDepth; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    Options wanted = options();
    wanted.out = folder();
    changes[i](wanted);
    EXPECT_EQ(make_variants({*device_, *device_}, model_, data_, 2, wanted).status().code(),
              Code::kInvalidArgument)
        << i;
  }
}

TEST_F(Variants, NeedAFolderAndANumber) {
  EXPECT_EQ(make_variants({*device_, *device_}, model_, data_, 3, options()).status().code(),
            Code::kInvalidArgument);
  shrink::ShrinkOptions to = options();
  to.out = folder();
  for (size_t count : {0u, 1u, 10u}) {
    EXPECT_EQ(make_variants({*device_, *device_}, model_, data_, count, to).status().code(),
              Code::kInvalidArgument);
  }
}

class SandwichTraining : public shrink::Shrinking {
 protected:
  Result<SandwichResult> train(const std::vector<Widths>& narrower, int64_t epochs) {
    fit::TrainingOptions recipe = options().recipe;
    recipe.epochs = epochs;
    return train_sandwich(*device_, network_, narrower, data_.data, recipe, {});
  }
  double top1(const fit::NetworkForBatch& network) {
    return *shrink::top1_of(*device_, network, *data_.test, options().recipe);
  }
  const fit::NetworkForBatch network_ = shrink::as_given(model_);
};

// Narrower networks learn by what they share: it differs from what the widest learns alone, and
// untrained they are worse.
TEST_F(SandwichTraining, NarrowNetworksLearn) {
  const Widths narrow = {{"fc1.bias:0:0", 4}};
  const auto result = train({narrow}, 15);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto widest = shrink::with_weights(network_, result->weights);
  const auto narrow_of = [&](const fit::NetworkForBatch& from, const OwnParts& own) {
    return [=](int64_t batch) -> Result<LoadedGraph> {
      SHOAL_ASSIGN(LoadedGraph loaded, from(batch));
      SHOAL_ASSIGN(loaded.graph, narrowed(loaded.graph, narrow, own));
      return loaded;
    };
  };
  EXPECT_GT(top1(widest), 90);
  EXPECT_GT(top1(narrow_of(widest, result->own[0])), 80);
  EXPECT_LT(top1(narrow_of(network_, {})), 60);
  EXPECT_EQ(result->own[0].size(), 2u);  // two biases
  EXPECT_EQ(result->own[0].at("fc1.bias").shape(), Shape{4});
}

// A step of a narrower network that has all units adds the gradients of the widest once more: it is
// a step of twice the rate, as far as shared weights go.
TEST_F(SandwichTraining, GradientsOfSharedWeightsAddUp) {
  fit::TrainingOptions recipe = options().recipe;
  recipe.epochs = 1;
  recipe.batch = 200;  // one step
  recipe.loss.distill = 0;
  recipe.warm_up = 0;
  recipe.schedule = train::Schedule::Kind::kConstant;
  const auto twice = train_sandwich(*device_, network_, {Widths{}}, data_.data, recipe, {});
  ASSERT_TRUE(twice.ok()) << twice.status().message();
  recipe.optimizer.rate *= 2;
  const auto once = shrink::retrain(*device_, network_, network_, data_.data, recipe, {});
  ASSERT_TRUE(once.ok()) << once.status().message();
  const Tensor& want = once->weights.at("fc1.weight");
  const std::vector<Tensor> a{twice->weights.at("fc1.weight")}, b{want};
  EXPECT_LE(relative_error(a, b), 1e-5);
}

}  // namespace
}  // namespace shoal::catalog
