// Faces: alignment, the database and its file, the embedder. The cascade is in cascade_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "shoal/base/files/file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/video/faces/evaluation/evaluation.h"
#include "shoal/video/faces/evaluation/face_networks.h"
#include "shoal/video/faces/recognition/align.h"
#include "shoal/video/faces/recognition/database.h"
#include "shoal/video/faces/recognition/embedder.h"
#include "shoal/video/faces/recognition/recogniser.h"

namespace shoal::faces {
namespace {

using detect::FacePoints;
using detect::Point;

double residual(const Similarity& map, const FacePoints& from, const FacePoints& to) {
  double sum = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const Point p = map(from[i]);
    sum += std::pow(double{p.x} - to[i].x, 2) + std::pow(double{p.y} - to[i].y, 2);
  }
  return sum;
}

TEST(Similarity, IsTheOneOfLeastSquares) {
  std::mt19937 rng(1);
  std::normal_distribution<double> normal;
  const FacePoints to = face_template(112);
  for (int round = 0; round < 200; ++round) {
    const Similarity truth{normal(rng), normal(rng), 50 * normal(rng), 50 * normal(rng)};
    FacePoints from = to;
    for (Point& p : from) p = truth(p);
    const auto exact = similarity(from, to);
    ASSERT_TRUE(exact.has_value());
    const Similarity back = truth.inverse();
    EXPECT_NEAR(exact->a, back.a, 1e-3 * (1 + std::abs(back.a)));
    EXPECT_NEAR(exact->b, back.b, 1e-3 * (1 + std::abs(back.b)));
    EXPECT_LT(residual(*exact, from, to), 1e-2);
    // Points that no similarity meets: every other map is worse.
    for (Point& p : from) p.x += static_cast<float>(normal(rng));
    const auto best = similarity(from, to);
    ASSERT_TRUE(best.has_value());
    for (int i = 0; i < 4; ++i) {
      Similarity other = *best;
      (i == 0 ? other.a : i == 1 ? other.b : i == 2 ? other.c : other.d) += 0.01;
      EXPECT_GT(residual(other, from, to), residual(*best, from, to) - 1e-2);
    }
  }
  FacePoints same;
  same.fill({3, 4});
  EXPECT_FALSE(similarity(same, to).has_value());
  same[0].x = NAN;
  EXPECT_FALSE(similarity(same, to).has_value());
}

TEST(Align, BringsPixelsToTheTemplate) {
  Tensor image({DType::kU8, {60, 70, 3}});
  std::mt19937 rng(2);
  for (uint8_t& p : image.data<uint8_t>()) p = static_cast<uint8_t>(rng() % 256);
  // The template moved by (9, 4): the face is the image from there on, and black beyond it.
  FacePoints points = face_template(64);
  for (Point& p : points) p = {p.x + 9, p.y + 4};
  const auto face = align(image, points, 64);
  ASSERT_TRUE(face.has_value());
  for (int64_t y = 0; y < 64; ++y) {
    for (int64_t x = 0; x < 64; ++x) {
      const bool inside = x + 9 < 70 && y + 4 < 60;
      const int expected =
          inside ? image.data<uint8_t>()[static_cast<size_t>(((y + 4) * 70 + x + 9) * 3 + 1)] : 0;
      const int found = face->data<uint8_t>()[static_cast<size_t>((y * 64 + x) * 3 + 1)];
      ASSERT_NEAR(found, expected, 1) << x << "," << y;
    }
  }
}

Embedding random_face(std::mt19937& rng, size_t dims) {
  std::normal_distribution<float> normal;
  Embedding face(dims);
  for (float& x : face) x = normal(rng);
  return face;
}

FaceDatabase random_database(std::mt19937& rng) {
  FaceDatabase database(rng());
  const size_t dims = rng() % 8 == 0 ? 100 : 1 + rng() % 8;
  for (size_t i = rng() % 6; i-- > 0;) {
    const std::string name = "p\xC3\xA9rson \"" + std::to_string(rng() % 8) + "\"";
    (void)database.enrol(name, random_face(rng, dims));  // refused if two faces cancel out
  }
  EXPECT_TRUE(database.set_threshold(double(rng() % 400) / 100).ok());
  return database;
}

TEST(FaceDatabase, IsTheSameAfterWritingAndReading) {
  std::mt19937 rng(3);
  for (int round = 0; round < 100; ++round) {
    const FaceDatabase database = random_database(rng);
    const auto read = parse_database(to_text(database));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, database);
  }
}

TEST(FaceDatabase, SurvivesHostileText) {
  std::mt19937 rng(4);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = to_text(random_database(rng));
    const size_t at = rng() % text.size();
    switch (rng() % 4) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(rng());
        break;
      case 2:
        text.insert(at, text.substr(rng() % text.size(), rng() % 40));
        break;
      default:
        text.erase(at, rng() % 20);
    }
    const auto read = parse_database(text);
    if (!read.ok()) {
      EXPECT_EQ(read.status().code(), Code::kCorrupt) << read.status().message();
      ++refused;
      continue;
    }
    const auto again = parse_database(to_text(*read));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, *read);
  }
  EXPECT_GT(refused, 1500);
}

TEST(FaceDatabase, EnrolsAndForgetsPeople) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto file = folder.path() / "db.faces";
  FaceDatabase database(7, 2);
  ASSERT_TRUE(database.enrol("Ada", Embedding{1, 0, 0}).ok());
  ASSERT_TRUE(database.enrol("Ada", Embedding{0, 2, 0}).ok());  // of length 1 before it counts
  ASSERT_TRUE(database.enrol("Bob", Embedding{0, 0, 1}).ok());
  EXPECT_EQ(database.enrol("Cid", Embedding{1, 1, 1}).code(), Code::kExhausted);
  EXPECT_EQ(database.enrol("Ada", Embedding{1, 1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(database.enrol("Ada", Embedding{0, 0, 0}).code(), Code::kInvalidArgument);
  EXPECT_EQ(database.enrol("a\nb", Embedding{1, 1, 1}).code(), Code::kInvalidArgument);
  ASSERT_TRUE(database.set_threshold(0.5).ok());
  EXPECT_EQ(database.people()[0].faces, 2u);
  const auto match = database.who(Embedding{1, 1, 0});
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->person, "Ada");
  EXPECT_NEAR(match->distance, 0, 1e-6);
  EXPECT_FALSE(database.who(Embedding{-1, -1, 0}).has_value());
  EXPECT_FALSE(database.who(Embedding{1, 1}).has_value());

  ASSERT_TRUE(save(database, file).ok());
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(file).permissions() & (perms::group_all | perms::others_all),
            perms::none);
  EXPECT_TRUE(database.forget("Ada"));
  EXPECT_FALSE(database.forget("Ada"));
  ASSERT_TRUE(save(database, file).ok());
  const auto left = load_database(file);
  ASSERT_TRUE(left.ok()) << left.status().message();
  EXPECT_EQ(left->people().size(), 1u);
  EXPECT_EQ(left->model(), 7u);
  const auto mapped = MappedFile::open(file);
  const std::string text(reinterpret_cast<const char*>((*mapped)->bytes().data()),
                         (*mapped)->bytes().size());
  EXPECT_EQ(text.find("Ada"), std::string::npos);
  EXPECT_EQ(load_database(folder.path() / "none").status().code(), Code::kNotFound);
}

TEST(Pairs, FindTheBestThreshold) {
  std::mt19937 rng(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<FacePair> pairs;
    for (size_t i = 1 + rng() % 12; i-- > 0;) pairs.push_back({double(rng() % 10), rng() % 2 == 0});
    double best = 0;
    for (double t = -0.5; t < 11; t += 0.5) best = std::max(best, accuracy_at(pairs, t));
    // A threshold below all distances cannot be told from one at a distance of 0.
    if (std::ranges::any_of(pairs, [](const FacePair& p) { return p.distance == 0; })) continue;
    EXPECT_EQ(accuracy_at(pairs, best_threshold(pairs)), best);
  }
  std::vector<FacePair> apart;
  for (int i = 0; i < 40; ++i) apart.push_back({i % 2 == 0 ? 1.0 : 3.0, i % 2 == 0});
  EXPECT_EQ(cross_validated(apart, 10), 1);
  for (FacePair& face_pair : apart) face_pair.same = !face_pair.same;
  EXPECT_LE(cross_validated(apart, 10), 0.5);
}

TEST(Embedder, GivesWhatTheNetworkGivesAndExitsBefore) {
  const auto model = open_model("zoo:convnet");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto device = make_reference_device();
  const auto embedder = Embedder::open(*model, *device, {.exits = 2});
  ASSERT_TRUE(embedder.ok()) << embedder.status().message();
  EXPECT_EQ(embedder->side(), 32);
  ASSERT_EQ(embedder->stage_macs().size(), 3u);
  std::mt19937 rng(6);
  Tensor face({DType::kU8, {40, 30, 3}});
  for (uint8_t& p : face.data<uint8_t>()) p = static_cast<uint8_t>(rng() % 256);

  auto session = model->session(*device);
  ASSERT_TRUE(session.ok());
  const Preprocess how{.stretch = true, .channels = 3, .mean = {127}, .std = {128}, .scale = false};
  const auto input = preprocess(face, how, 32, 32);
  std::vector<Tensor> outputs(1);
  ASSERT_TRUE(session->run(std::span(&*input, 1), outputs).ok());
  const Embedding expected = normalised(outputs[0].data<float>());
  const auto whole = embedder->embed(face);
  ASSERT_TRUE(whole.ok());
  ASSERT_EQ(whole->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR((*whole)[i], expected[i], 1e-5);

  auto pass = embedder->start(face);
  ASSERT_TRUE(pass.ok());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(pass->done());
    const auto embedding = pass->next();
    ASSERT_TRUE(embedding.ok());
    EXPECT_EQ(std::ssize(*embedding), embedder->dims()[i]);
    EXPECT_NEAR(distance(*embedding, Embedding(embedding->size(), 0)), 1, 1e-4);
  }
  EXPECT_TRUE(pass->done());

  // Somebody who was enrolled is recognised; and what takes no image is no embedder.
  FaceDatabase database;
  ASSERT_TRUE(database.enrol("Ada", *whole).ok());
  Recogniser recogniser(*embedder, database);
  for (int i = 0; i < 3; ++i) {
    const auto answer = recogniser.who(face);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->person, "Ada");
  }
  EXPECT_FALSE(Embedder::open(*open_model("zoo:lenet5"), *device).ok());
}

TEST(FindFaces, TakesAnImageForAFaceWithoutADetector) {
  const Tensor image({DType::kU8, {20, 30, 1}});
  const auto found = find_faces(nullptr, image, 16);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].image.shape(), (Shape{16, 16, 1}));
}

TEST(ParsePairs, ReadsLinesAndRefusesOthers) {
  const auto pairs = parse_pairs("a,b,same\nx_1.jpg,x_2.jpg,1\r\nx_1.jpg,y_1.jpg,0");
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(*pairs,
            (std::vector<NamedPair>{{"x_1.jpg", "x_2.jpg", true}, {"x_1.jpg", "y_1.jpg", false}}));
  EXPECT_TRUE(parse_pairs("")->empty());
  for (const char* bad : {"x", "x,y", "x,y,", "x,y,2", ",y,1", "x,,1", "x,y,1,1"}) {
    const auto refused = parse_pairs(std::string("header\n") + bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.status().code(), Code::kCorrupt);
    EXPECT_NE(refused.status().message().find(bad), std::string::npos);
  }
}

TEST(FaceNetworks, AreKnownByTheirFile) {
  const auto folder = TemporaryFolder::make();
  const auto model = folder->path() / "m", file = folder->path() / "people";
  std::ofstream(model) << "a network";
  const uint64_t number = *number_of(model);
  FaceDatabase database(number);
  ASSERT_TRUE(database.enrol("Ada", Embedding{1, 0}).ok());
  ASSERT_TRUE(save(database, file).ok());
  EXPECT_EQ(*load_database(file, number), database);
  std::ofstream(model) << "another network";
  EXPECT_EQ(load_database(file, *number_of(model)).status().message(),
            file.string() + " has embeddings of another network");
  EXPECT_EQ(number_of(folder->path() / "nothing").status().code(), Code::kNotFound);
  std::ofstream(file) << "a,b,same\nx,y,1\n";
  EXPECT_EQ(*read_pairs(file), (std::vector<NamedPair>{{"x", "y", true}}));
  EXPECT_FALSE(read_pairs(folder->path() / "nothing").ok());
}

TEST(FaceNetworks, TakeAnImageForAFaceWithoutADetector) {
  auto networks =
      FaceNetworks::open(make_reference_device(), *open_model("zoo:convnet"), nullptr, 2);
  ASSERT_TRUE(networks.ok()) << networks.status().message();
  const FaceReader reader = networks->reader(0.5F);
  EXPECT_EQ(reader.detector, nullptr);
  EXPECT_EQ(reader.embedder, &networks->embedder());
  EXPECT_EQ(reader.least_score, 0.5F);
  EXPECT_EQ(networks->embedder().stage_macs().size(), 3u);
  const Tensor image({DType::kU8, {40, 30, 3}});
  EXPECT_EQ(reader.faces(image)->size(), 1u);
  const Model no_detector = *open_model("zoo:lenet5");
  EXPECT_FALSE(
      FaceNetworks::open(make_reference_device(), *open_model("zoo:convnet"), &no_detector, 0)
          .ok());
}

// Digits stand for people: each person's pictures are the same digit.
TEST(Evaluation, KnowsPeopleByTheirPictures) {
  const auto made = TemporaryFolder::make();
  ASSERT_TRUE(made.ok());
  const std::filesystem::path folder = made->path();
  const auto samples = zoo::digits_samples();
  for (size_t person = 0; person < 3; ++person) {
    for (size_t picture = 0; picture < 3 - person; ++picture) {
      const std::string name = "p_" + std::to_string(person) + "_" + std::to_string(picture);
      const auto bytes = samples[person].png;
      std::ofstream(folder / (name + ".png"), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    }
  }
  std::ofstream(folder / "notes_1.txt") << "no picture";
  const auto people = people_in(folder);
  ASSERT_TRUE(people.ok());
  ASSERT_EQ(people->size(), 3u);
  EXPECT_EQ(people->at("p_0").size(), 3u);

  const auto device = make_reference_device();
  const auto embedder = Embedder::open(*open_model("zoo:convnet"), *device, {.exits = 1});
  ASSERT_TRUE(embedder.ok()) << embedder.status().message();
  const FaceReader reader{.embedder = &*embedder};
  const auto pairs = measure_pairs(
      reader, {{"p_0_0.png", "p_0_1.png", true}, {"p_0_0.png", "p_1_0.png", false}}, folder);
  ASSERT_TRUE(pairs.ok()) << pairs.status().message();
  EXPECT_LT((*pairs)[0].distance, 1e-9);
  EXPECT_GT((*pairs)[1].distance, 1e-6);
  EXPECT_FALSE(measure_pairs(reader, {{"p_0_0.png", "p_9_0.png", true}}, folder).ok());

  // The third has one picture only, and is neither enrolled nor shown.
  FaceDatabase database;
  std::vector<size_t> done;
  const auto result = identify(reader, folder, database, {.progress = [&](size_t at, size_t all) {
                                 EXPECT_EQ(all, 3u);
                                 done.push_back(at);
                               }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->people, 2u);
  EXPECT_EQ(result->faces, 3u);
  EXPECT_EQ(result->right_alone, 3u);
  EXPECT_EQ(result->right, 3u);
  EXPECT_EQ(done, (std::vector<size_t>{1, 2, 3}));
}

}  // namespace
}  // namespace shoal::faces
