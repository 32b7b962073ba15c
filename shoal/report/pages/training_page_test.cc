// The page about a training run.
#include "shoal/report/pages/training_page.h"

#include <gtest/gtest.h>

namespace shoal::report {
namespace {

// One image of 2 x 4 pixels, all of them white but the last.
class OneImage : public Dataset {
 public:
  size_t size() const override { return 1; }
  Result<Example> at(size_t) const override {
    Tensor image({DType::kU8, {2, 4, 1}});
    for (uint8_t& pixel : image.data<uint8_t>()) pixel = 255;
    image.data<uint8_t>()[7] = 0;
    return Example{image, 0};
  }
  std::string place(size_t) const override { return "image"; }
};

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

class TrainingPage : public testing::Test {
 protected:
  std::string page(const fit::TrainingProgress& progress, const fit::Evaluation& evaluation) {
    return training_page("a<b & c", {progress, evaluation, data_});
  }
  static fit::TrainingProgress two_epochs() {
    fit::TrainingProgress progress;
    progress.results = {{2, 10, 3, 20, 1}, {1, 30, 1.5, 40, 2}};
    return progress;
  }
  // Right once, and wrong once about the example.
  static fit::Evaluation answers(size_t classes) {
    fit::Evaluation evaluation;
    std::vector<float> scores(classes);
    scores[1] = 5;
    evaluation.add(scores, false, 1, 0);
    evaluation.add(scores, false, 0, 0);
    return evaluation;
  }
  OneImage data_;
};

TEST_F(TrainingPage, NeedsNoOtherFile) {
  const std::string text = page(two_epochs(), answers(3));
  EXPECT_EQ(count(text, "://"), 0u);
  EXPECT_EQ(count(text, "src="), 0u);
}

TEST_F(TrainingPage, EscapesItsTitle) {
  const std::string text = page(two_epochs(), answers(3));
  EXPECT_EQ(count(text, "<h1>a&lt;b &amp; c</h1>"), 1u);
}

TEST_F(TrainingPage, DrawsACurveForEachFigureFromTopToBottom) {
  const std::string text = page(two_epochs(), answers(3));
  EXPECT_EQ(count(text, "<polyline"), 4u);
  // Losses from 3 to 1 fill the plot: 3 is at its top, 1 at its bottom, and 2 in the middle.
  EXPECT_EQ(count(text, "points=\"50.0,132.0 510.0,252.0 \""), 1u) << text;
  EXPECT_EQ(count(text, "points=\"50.0,12.0 510.0,192.0 \""), 1u) << text;
}

TEST_F(TrainingPage, HasNoCurvesBeforeTheFirstEpoch) {
  EXPECT_EQ(count(page({}, {}), "<polyline"), 0u);
}

TEST_F(TrainingPage, CountsConfusionsUnlessThereAreTooManyClasses) {
  const std::string few = page(two_epochs(), answers(3));
  EXPECT_EQ(count(few, "<td"), 9u);
  EXPECT_EQ(count(few, ">1</td>"), 2u);
  EXPECT_EQ(count(page(two_epochs(), answers(41)), "<td"), 0u);
}

TEST_F(TrainingPage, DrawsMistakesAsRunsOfOneColour) {
  const std::string text = page(two_epochs(), answers(3));
  EXPECT_EQ(count(text, "<figure>"), 1u);
  EXPECT_EQ(count(text, "0 taken for 1"), 1u);
  EXPECT_EQ(count(text, "fill=\"#ffffff\""), 2u);  // a row of four, and three of the next
  EXPECT_EQ(count(text, "fill=\"#000000\" d=\"M3 1h1v1h-1\""), 1u);
}

}  // namespace
}  // namespace shoal::report
