// Enrolment, and the settings of commands about faces. Digits stand for people.
#include <gtest/gtest.h>

#include <fstream>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/video/faces/evaluation/face_networks.h"

namespace shoal::faces {
namespace {

class Enrolment : public testing::Test {
 protected:
  std::string picture(size_t digit) const {
    const auto path = folder_.path() / (std::to_string(digit) + ".png");
    const auto bytes = zoo::digits_samples()[digit].png;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    return path;
  }
  Status enrol(const std::string& name, const std::vector<std::string>& pictures,
               uint64_t number = 7) const {
    return enrol_pictures(file_, number, 0.5, {.embedder = &*embedder_}, name, pictures);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::filesystem::path file_ = folder_.path() / "people";
  const std::unique_ptr<Device> device_ = make_reference_device();
  const Result<Embedder> embedder_ =
      Embedder::open(*open_model("zoo:convnet"), *device_, {.exits = 0});
};

TEST_F(Enrolment, MakesAFileAndAddsToIt) {
  ASSERT_TRUE(enrol("Ada", {picture(0), picture(1)}).ok());
  ASSERT_TRUE(enrol("Bob", {picture(2)}).ok());
  const auto database = load_database(file_);
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(database->threshold(), 0.5);
  EXPECT_EQ(database->model(), 7U);
  ASSERT_EQ(database->people().size(), 2U);
  EXPECT_EQ(database->people()[0].faces, 2U);
}

TEST_F(Enrolment, ChangesNothingWhereItFails) {
  EXPECT_FALSE(enrol("Ada", {picture(0), folder_.path() / "none.png"}).ok());
  EXPECT_FALSE(std::filesystem::exists(file_));
  ASSERT_TRUE(enrol("Ada", {picture(0)}).ok());
  EXPECT_EQ(enrol("Ada", {picture(1)}, 8).message(),
            file_.string() + " has embeddings of another network");
  EXPECT_FALSE(enrol("a\nb", {picture(1)}).ok());
  EXPECT_EQ(load_database(file_)->people()[0].faces, 1U);
}

TEST_F(Enrolment, ForgetsWhomItKnows) {
  EXPECT_EQ(forget_person(file_, "Ada").code(), Code::kNotFound);
  ASSERT_TRUE(enrol("Ada", {picture(0)}).ok());
  EXPECT_EQ(forget_person(file_, "Bob\n").message(), file_.string() + " does not know Bob\\x0a");
  EXPECT_TRUE(forget_person(file_, "Ada").ok());
  EXPECT_TRUE(load_database(file_)->people().empty());
}

TEST_F(Enrolment, LetsFacesBeRecognised) {
  ASSERT_TRUE(enrol("Ada", {picture(0)}).ok());
  const FaceDatabase database = *load_database(file_);
  Recogniser recogniser(*embedder_, database);
  std::vector<FaceAnswer> answers;
  const Status done = recognise({.embedder = &*embedder_}, recogniser, *read_image(picture(0)),
                                [&](const FoundFace& face, const FaceAnswer& answer) {
                                  EXPECT_EQ(face.image.shape()[0], embedder_->side());
                                  answers.push_back(answer);
                                });
  ASSERT_TRUE(done.ok()) << done.message();
  ASSERT_EQ(answers.size(), 1U) << "without a detector an image is one face";
  EXPECT_EQ(answers[0].person, "Ada");
}

TEST_F(Enrolment, KnowsNetworksOfFilesByTheirNumbers) {
  EXPECT_EQ(*number_of(*open_model("zoo:convnet"), "zoo:convnet"), 0U) << "weights are random";
  const Model learned = *open_model(std::string(kDigitsModel));
  EXPECT_EQ(*number_of(learned, picture(0)), *number_of(picture(0)));
  EXPECT_NE(*number_of(learned, picture(0)), *number_of(learned, picture(1)));
  EXPECT_FALSE(number_of(learned, folder_.path() / "none").ok());
}

TEST_F(Enrolment, RefusesThresholdsThatCannotBe) {
  EXPECT_EQ(new_database(3, 0.25)->threshold(), 0.25);
  EXPECT_FALSE(new_database(3, 5).ok());
}

}  // namespace
}  // namespace shoal::faces
