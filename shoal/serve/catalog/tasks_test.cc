// Catalogs as tasks of a server, what they may cost, and special networks that are made for them.
#include "shoal/serve/catalog/tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/variants/catalog/catalog.h"

namespace shoal::serve {
namespace {

namespace fs = std::filesystem;

TEST(Budgets, AreAmountsByName) {
  const auto all = parse_budgets(
      "--budget", {"energy=50", "money=2.5", "memory=3", "latency=20", "requests=1e3", "day=10"});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->budgets.joules, 50);
  EXPECT_EQ(all->budgets.dollars, 2.5);
  EXPECT_EQ(all->budgets.bytes, 3'000'000);
  EXPECT_EQ(all->budgets.seconds, 36'000);
  EXPECT_EQ(all->latency_ms, 20);
  EXPECT_EQ(all->requests, 1000);
  const auto none = parse_budgets("--budget", {});
  EXPECT_EQ(none->budgets.dollars, 0) << "money is spent only where it was given";
  EXPECT_TRUE(check(none->budgets).ok());
}

TEST(Budgets, OfOtherNamesOrNoNumbersAreRefused) {
  for (const char* text : {"", "energy", "energy=", "energy=x", "energy=1x", "energy=-1",
                           "energy=nan", "energy=1e13", "=5", "power=5"}) {
    EXPECT_EQ(parse_budgets("--budget", {text}).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(parse_budgets("--budget", {"energy=x"}).status().message(),
            "--budget energy=x: write energy=JOULES");
}

TEST(Costs, AreOfAnotherServer) {
  schedule::Cloud costs{.round_trip_ms = 7};
  ASSERT_TRUE(
      parse_costs("--cloud-costs", {"price=3.6", "mbit=8", "radio=2", "speed=4"}, costs).ok());
  EXPECT_EQ(costs.dollars_per_second, 1e-3);
  EXPECT_EQ(costs.bytes_per_second, 1e6);
  EXPECT_EQ(costs.radio_watts, 2);
  EXPECT_EQ(costs.speed, 4);
  EXPECT_EQ(costs.round_trip_ms, 7) << "as it was";
  for (const char* text : {"mbit=0", "speed=0", "energy=1"}) {
    EXPECT_EQ(
        parse_costs("--cloud-costs", {text}, costs).message(),
        "--cloud-costs takes price, mbit, radio, speed and round-trip, not " + std::string(text));
  }
}

// Catalogs of the built-in digits, and of an unused special network.
class Tasks : public testing::Test {
 protected:
  void write(const std::string& name) const {
    const fs::path folder = folder_->path() / name;
    fs::create_directories(folder);
    const auto bytes = zoo::digits_model();
    ASSERT_TRUE(write_file(folder / "largest.onnx",
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()})
                    .ok());
    catalog::Variant widest{.name = "v0", .figures = {.top1 = 99, .ms = 2, .memory = 1000}};
    catalog::Variant few{.name = "few", .figures = {.top1 = 98, .ms = 1, .memory = 100}};
    few.has_file = true;
    few.special = catalog::Special{.classes = {1, 7}, .threshold = 0.9, .precision = 97};
    ASSERT_TRUE(catalog::write_catalog(folder, {{widest, few}}, {{}, {}}).ok());
  }
  Status add(const Allowed& allowed = {}) {
    return add_tasks(
        folder_->path(), allowed,
        [](ModelSource& source) {
          source.max_batch = 3;
          return Status();
        },
        sources_, tasks_);
  }

  const Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  std::vector<ModelSource> sources_;
  ChooserOptions tasks_;
};

TEST_F(Tasks, HaveTheirVariantsAsModels) {
  write("a");
  write("b");
  const Status added = add({.latency_ms = 20, .requests = 500});
  ASSERT_TRUE(added.ok()) << added.message();
  std::vector<std::string> names;
  for (const ModelSource& source : sources_) {
    names.push_back(source.name);
    EXPECT_EQ(source.max_batch, 3);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a.v0", "a.few", "b.v0", "b.few"}));
  const auto model = sources_[0].open();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_FALSE(sources_[1].open().ok()) << "its file is missing";
  ASSERT_EQ(tasks_.catalog.tasks.size(), 2U);
  const schedule::Task& task = tasks_.catalog.tasks[1];
  EXPECT_EQ(task.name, "b");
  EXPECT_EQ(task.latency_ms, 20);
  EXPECT_EQ(task.requests_per_day, 500);
  EXPECT_EQ(task.options[0].bytes, 1000);
  EXPECT_EQ(task.options[1].bytes, 1100) << "with the network that it falls back to";
  ASSERT_EQ(tasks_.specials.size(), 2U);
  const SpecialVariant& special = tasks_.specials[1];
  EXPECT_EQ(special.id, (schedule::OptionId{1, 1}));
  EXPECT_EQ(special.general, "v0");
  EXPECT_EQ(special.classes, 10U);
  EXPECT_EQ(special.network.classes, (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(special.network.threshold, 0.9);
}

TEST_F(Tasks, AndModelsHaveNamesOfTheirOwn) {
  EXPECT_FALSE(add().ok()) << "there is no catalog";
  write("a");
  for (const char* name : {"a", "a.v0"}) {
    sources_ = {*parse_model_source(std::string(name) + "=zoo:digits")};
    tasks_ = {};
    EXPECT_EQ(add().message(),
              std::string("a model and a task, or two models, are called ") + name);
  }
  sources_ = {};
  tasks_ = {};
  EXPECT_FALSE(add({.budgets = {.joules = -1}}).ok());
}

// Of images that say nothing, but in the form of the digits.
TEST_F(Tasks, HaveNetworksMadeForTheClassesThatAreSeen) {
  constexpr int64_t kImages = 120;
  write("a");
  Tensor images({DType::kU8, {kImages, 28, 28}}), labels({DType::kI64, {kImages}});
  std::mt19937 rng(1);
  for (uint8_t& pixel : images.data<uint8_t>()) pixel = static_cast<uint8_t>(rng());
  for (size_t i = 0; i < kImages; ++i) labels.data<int64_t>()[i] = static_cast<int64_t>(i % 10);
  ASSERT_TRUE(write_npy(folder_->path() / "images.npy", images).ok());
  ASSERT_TRUE(write_npy(folder_->path() / "labels.npy", labels).ok());
  SpecialsOptions specials{.folder = folder_->path() / "a", .how = {}, .device = [] {
                             return make_device("cpu", {.cpu = {.threads = 1}});
                           }};
  fit::TrainingOptions& recipe = specials.how.recipe;
  recipe.data = folder_->path();
  recipe.format = "npy";
  recipe.hold_out = 0.3;
  recipe.epochs = 1;
  recipe.batch = 2;
  ServerOptions options;
  const Status added = add_specials_maker(specials, options);
  ASSERT_TRUE(added.ok()) << added.message();
  ASSERT_EQ(options.tasks.makes.size(), 1U);
  EXPECT_EQ(options.tasks.makes[0].general, "v0");
  EXPECT_EQ(options.tasks.makes[0].classes, 10U);

  const std::atomic<bool> cancel = false;
  auto made = options.make_special(0, {2, 5}, cancel);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->network.classes, (std::vector<int64_t>{2, 5}));
  EXPECT_GT(made->option.bytes, 1000) << "with the widest";
  const auto model = made->open();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->graph()->graph[model->graph()->graph.outputs()[0]].type.shape[1], 3);

  recipe.batch = 0;
  EXPECT_EQ(add_specials_maker(specials, options).code(), Code::kInvalidArgument);
  specials.folder = folder_->path() / "nowhere";
  EXPECT_EQ(add_specials_maker(specials, options).code(), Code::kNotFound);
}

}  // namespace
}  // namespace shoal::serve
