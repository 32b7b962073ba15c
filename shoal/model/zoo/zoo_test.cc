#include "shoal/model/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "shoal/model/graph/text.h"

namespace shoal::zoo {
namespace {

// What the papers, torchvision and the specs state of each network, for one image.
struct Published {
  const char* name;
  int64_t parameters;
  double macs;  // in millions, to the last digit that is stated
  double tolerance;
  Shape output;
};

void PrintTo(const Published& network, std::ostream* out) { *out << network.name; }

class Zoo : public testing::TestWithParam<Published> {};

TEST_P(Zoo, HasThePublishedTotals) {
  const Published& published = GetParam();
  auto graph = build(published.name);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(parameters(*graph), published.parameters);
  EXPECT_NEAR(static_cast<double>(total_macs(*graph)) / 1e6, published.macs, published.tolerance);
  ASSERT_EQ(graph->outputs().size(), 1u);
  const Value& output = (*graph)[graph->outputs()[0]];
  EXPECT_EQ(output.name, "output");
  EXPECT_EQ(to_string(output.type.shape), to_string(published.output));
}

TEST_P(Zoo, StatesItsTotalInTheList) {
  const auto entry = std::ranges::find(list(), std::string_view(GetParam().name), &Entry::name);
  ASSERT_NE(entry, list().end());
  std::string total = std::to_string(GetParam().parameters);
  for (size_t at = total.size(); at > 3;) total.insert(at -= 3, ",");
  EXPECT_NE(entry->what.find(total + " parameters"), std::string_view::npos) << entry->what;
}

INSTANTIATE_TEST_SUITE_P(Networks, Zoo,
                         testing::Values(Published{"logistic", 7'850, 0.00784, 0.0001, {1, 10}},
                                         Published{"mlp", 109'386, 0.109, 0.001, {1, 10}},
                                         Published{"lenet5", 431'080, 2.293, 0.001, {1, 10}},
                                         Published{"convnet", 89'578, 12.298, 0.001, {1, 10}},
                                         Published{"resnet20", 269'722, 40.55, 0.01, {1, 10}},
                                         Published{"resnet56", 853'018, 125.49, 0.01, {1, 10}},
                                         Published{"allcnn", 1'369'738, 281.2, 0.1, {1, 10}},
                                         Published{"nin", 966'986, 222.5, 0.1, {1, 10}},
                                         Published{"alexnet", 61'100'840, 714, 1, {1, 1000}},
                                         Published{"vgg16cifar", 14'719'818, 313.2, 0.1, {1, 10}},
                                         Published{"vgg16", 138'357'544, 15'470, 1, {1, 1000}},
                                         Published{"resnet18", 11'689'512, 1'814, 1, {1, 1000}},
                                         Published{"resnet50", 25'557'032, 4'089, 1, {1, 1000}},
                                         Published{"mobilenetv2", 3'504'872, 300.8, 0.1, {1, 1000}},
                                         Published{"squeezenet", 1'235'496, 349, 1, {1, 1000}},
                                         Published{
                                             "tinyyolov2", 15'861'773, 3'486, 1, {1, 125, 13, 13}},
                                         Published{"c3d", 78'409'573, 38'547, 1, {1, 101}},
                                         Published{"encoder", 3'159'040, 436.2, 0.1, {1, 128, 256}},
                                         Published{"seq2seq", 3'686'400, 247.5, 0.1, {1, 64, 256}}),
                         [](const auto& network) { return std::string(network.param.name); });

TEST(ZooList, BeginsWithTheEmbeddedModelAndHoldsAllOthers) {
  EXPECT_EQ(list()[0].name, "digits");
  EXPECT_EQ(list().size(), 20u);
}

TEST(ZooBuild, DependsOnTheSeedOnly) {
  const auto first = build("mobilenetv2", {.seed = 7});
  const auto same = build("mobilenetv2", {.seed = 7});
  const auto other = build("mobilenetv2", {.seed = 8});
  ASSERT_TRUE(first.ok() && same.ok() && other.ok());
  EXPECT_EQ(to_text(*first), to_text(*same));
  EXPECT_NE(to_text(*first), to_text(*other));
}

TEST(ZooBuild, TakesAnyBatch) {
  for (const char* name : {"lenet5", "squeezenet", "encoder"}) {
    const auto one = build(name), three = build(name, {.batch = 3});
    ASSERT_TRUE(one.ok() && three.ok());
    Shape expected = (*one)[one->outputs()[0]].type.shape;
    expected[0] = 3;
    EXPECT_EQ(to_string((*three)[three->outputs()[0]].type.shape), to_string(expected)) << name;
    EXPECT_EQ(total_macs(*three), 3 * total_macs(*one)) << name;
    EXPECT_EQ(parameters(*three), parameters(*one)) << name;
  }
}

TEST(ZooBuild, MakesSmallerSiblings) {
  for (const Entry& entry : list().subspan(1)) {
    SCOPED_TRACE(entry.name);
    const auto half = build(entry.name, {.width = 0.5}),
               quarter = build(entry.name, {.width = 0.25});
    ASSERT_TRUE(half.ok() && quarter.ok());
    if (entry.name != "logistic") {  // which has no layer between inputs and classes
      EXPECT_LT(parameters(*quarter), 0.6 * static_cast<double>(parameters(*half)));
    }
    EXPECT_EQ(quarter->nodes().size(), half->nodes().size());
    const Shape& input = (*quarter)[quarter->inputs()[0]].type.shape;
    const bool image = input.rank() > 3;
    if (entry.name == "vgg16cifar") continue;  // five pools leave nothing of less than 32
    const int64_t size = (image ? input[input.rank() - 1] : input[1]) * 3 / 4;
    const auto small = build(entry.name, {.width = 0.25, .size = size});
    ASSERT_TRUE(small.ok()) << small.status().message();
    EXPECT_LT(total_macs(*small), total_macs(*quarter));
    const Shape& wide = (*half)[half->outputs()[0]].type.shape;
    const Shape& narrow = (*small)[small->outputs()[0]].type.shape;
    EXPECT_TRUE(!image || narrow[1] == wide[1]) << "other classes";
  }
}

// Totals do not see a shortcut that leads nowhere.
TEST(ZooBuild, ReadsEveryValue) {
  for (const Entry& entry : list().subspan(1)) {
    const auto graph = build(entry.name, {.width = 0.25});
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    std::vector<bool> read(graph->value_count());
    for (const Node& node : graph->nodes()) {
      for (ValueId id : node.inputs) {
        if (id != kNoValue) read[static_cast<size_t>(id)] = true;
      }
    }
    for (ValueId id : graph->outputs()) read[static_cast<size_t>(id)] = true;
    for (const Node& node : graph->nodes()) {
      EXPECT_TRUE(read[static_cast<size_t>(node.outputs[0])])
          << entry.name << ": " << place_of(*graph, node);
    }
  }
}

TEST(ZooBuild, RefusesWhatItCannotBuild) {
  EXPECT_EQ(build("resnet19").status().code(), Code::kNotFound);
  EXPECT_EQ(build("digits").status().code(), Code::kInvalidArgument);
  for (int64_t batch : {int64_t{-1}, int64_t{0}}) {
    EXPECT_EQ(build("mlp", {.batch = batch}).status().code(), Code::kInvalidArgument);
  }
  for (double width : {-1.0, 0.0, 1.1, std::nan("")}) {
    EXPECT_EQ(build("mlp", {.width = width}).status().code(), Code::kInvalidArgument) << width;
  }
  for (int64_t size : {-1, 7, 29}) {  // 7: too small for the first filters
    EXPECT_EQ(build("lenet5", {.size = size}).status().code(), Code::kInvalidArgument) << size;
  }
  for (const Entry& entry : list().subspan(1)) {
    const auto graph = build(entry.name, {.batch = int64_t{1} << 38});
    EXPECT_EQ(graph.status().code(), Code::kExhausted) << entry.name;
  }
}

}  // namespace
}  // namespace shoal::zoo
