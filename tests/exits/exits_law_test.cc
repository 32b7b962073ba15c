// Laws of multi-exit networks: resumed equals whole, and a batch that shrinks equals one image at a
// time. On the reference device they hold bit by bit for every network. The CPU has other kernels
// for images that are inputs of a graph, which are not in blocks of channels, and for other
// batches: there, resumed is whole bit by bit at the places that even_places() chooses, because
// convolutions follow them; elsewhere sums may round otherwise.
#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

using testing::random_images;
using testing::same_bytes;

// Kernels are chosen by estimate, so that both ways choose the same.
std::unique_ptr<Device> cpu() { return make_cpu_device({.threads = 2, .tune = Tune::kOff}); }

MultiExitForBatch zoo_multi_exit(const std::string& name, size_t exits, int64_t size) {
  return [=](int64_t batch) -> Result<MultiExit> {
    SHOAL_ASSIGN(const Graph network,
                 zoo::build(name, {.batch = batch, .width = 0.5, .size = size}));
    SHOAL_ASSIGN(const std::vector<ValueId> places, even_places(network, exits));
    SHOAL_ASSIGN(WithHeads with_heads, add_heads(network, places, {}));
    return std::move(with_heads.network);
  };
}

// Every exit of the network, run at once as one graph.
Result<std::vector<Tensor>> whole(Device& device, const MultiExitForBatch& network,
                                  const Tensor& images) {
  SHOAL_ASSIGN(const MultiExit multi_exit, network(images.shape()[0]));
  SHOAL_ASSIGN(const Graph graph, passes::optimize(multi_exit.graph));
  SHOAL_ASSIGN(const auto executable, device.compile(graph));
  std::vector<Tensor> outputs(graph.outputs().size());
  SHOAL_TRY(executable->run(std::span(&images, 1), outputs, {}));
  std::rotate(outputs.begin(), outputs.begin() + 1, outputs.end());  // the last classifier last
  return outputs;
}

// The largest relative error that is allowed; 0: not a bit may differ.
void expect_resumed_is_whole(Device& device, const MultiExitForBatch& network, int64_t batch,
                             double error = 0) {
  const auto runner = Runner::create(device, network);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const Tensor images = random_images(runner->input_type(), batch, 3);
  const auto wanted = whole(device, network, images);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  auto progress = runner->start(images);
  ASSERT_TRUE(progress.ok());
  for (size_t stage = 0; stage < wanted->size(); ++stage) {
    const auto scores = runner->advance(*progress);
    ASSERT_TRUE(scores.ok()) << scores.status().message();
    EXPECT_TRUE(error > 0 || same_bytes(*scores, (*wanted)[stage])) << "stage " << stage;
    EXPECT_LE(relative_error(std::vector{*scores}, std::vector{(*wanted)[stage]}), error);
  }
}

TEST(Exits, ResumedAreTheWholeOnTheReferenceDevice) {
  const auto device = make_reference_device();
  for (uint64_t seed = 1; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    expect_resumed_is_whole(*device, testing::random_multi_exit(seed), 2);
  }
}

TEST(Exits, ResumedAreTheWholeOnTheCpu) {
  const auto device = cpu();
  for (uint64_t seed = 1; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const int64_t batch = seed % 2 == 0 ? 1 : 4;
    expect_resumed_is_whole(*device, testing::random_multi_exit(seed, 16), batch, 1e-5);
    expect_resumed_is_whole(*device, testing::random_multi_exit(seed), batch, 1e-5);
  }
}

TEST(Exits, ResumedAreTheWholeForTheZoo) {
  const auto device = cpu();
  for (const auto& [name, size] : std::vector<std::pair<std::string, int64_t>>{{"lenet5", 0},
                                                                               {"resnet20", 0},
                                                                               {"resnet56", 0},
                                                                               {"mobilenetv2", 64},
                                                                               {"resnet18", 64},
                                                                               {"squeezenet", 64},
                                                                               {"mlp", 0}}) {
    for (int64_t batch : {1, 2}) {
      SCOPED_TRACE(name + " " + std::to_string(batch));
      expect_resumed_is_whole(*device, zoo_multi_exit(name, 2, size), batch);
    }
  }
}

void expect_batches_as_single_images(Device& device, const MultiExitForBatch& network,
                                     double error = 0) {
  constexpr size_t kImages = 11;
  const auto runner = Runner::create(device, network);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const Tensor images = random_images(runner->input_type(), kImages, 5);
  // A threshold between two images: some reach it, some do not.
  const auto all = runner->run(images, std::vector<double>(runner->exits().size(), 0.0));
  ASSERT_TRUE(all.ok()) << all.status().message();
  std::vector<double> sure;
  for (const Answer& answer : *all) sure.push_back(answer.probability);
  std::ranges::sort(sure);
  const double between = (sure[kImages / 2] + sure[kImages / 2 + 1]) / 2;
  const std::vector<double> thresholds(runner->exits().size(), between);
  const auto together = runner->run(images, thresholds);
  ASSERT_TRUE(together.ok());
  for (size_t i = 0; i < kImages; ++i) {
    Region row = Region::whole(images.shape());
    row.begin[0] = static_cast<int64_t>(i);
    row.end[0] = row.begin[0] + 1;
    const auto alone = runner->run(crop(images, row), thresholds);
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ((*together)[i].exit, (*alone)[0].exit);
    const auto as_tensor = [](const std::vector<float>& scores) {
      return std::vector{Tensor::of<float>({static_cast<int64_t>(scores.size())}, scores)};
    };
    EXPECT_LE(relative_error(as_tensor((*together)[i].scores), as_tensor((*alone)[0].scores)),
              error);
  }
}

TEST(Exits, AnswerImagesOfABatchAsSingleOnes) {
  const auto reference = make_reference_device(), fast = cpu();
  for (uint64_t seed = 1; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    expect_batches_as_single_images(*reference, testing::random_multi_exit(seed));
    expect_batches_as_single_images(*fast, testing::random_multi_exit(seed), 1e-5);
  }
  expect_batches_as_single_images(*fast, zoo_multi_exit("resnet20", 2, 0), 1e-5);
}

}  // namespace
}  // namespace shoal::exits
