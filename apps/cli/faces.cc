// shoal faces: people that were enrolled, and who is in an image or a video.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "exit_codes.h"
#include "model.h"
#include "progress.h"
#include "shoal/base/file.h"
#include "shoal/base/hash.h"
#include "shoal/base/printable.h"
#include "shoal/data/image.h"
#include "shoal/faces/align.h"
#include "shoal/faces/database.h"
#include "shoal/faces/pairs.h"
#include "shoal/faces/recogniser.h"
#include "shoal/watch/open_source.h"
#include "table.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kEnrolExamples = R"(
Examples:
  shoal faces enrol Ada --db family.faces --model mobilefacenet.onnx --detector retinaface.onnx ada1.jpg ada2.jpg)";
constexpr const char* kForgetExamples = R"(
Examples:
  shoal faces forget Ada --db family.faces)";
constexpr const char* kWhoExamples = R"(
Examples:
  shoal faces who --db family.faces --model mobilefacenet.onnx --detector retinaface.onnx party.jpg
  shoal faces who --db family.faces --model mobilefacenet.onnx --detector retinaface.onnx door.mp4 --json)";
constexpr const char* kListExamples = R"(
Examples:
  shoal faces list --db family.faces)";
constexpr const char* kEvalExamples = R"(
Examples:
  shoal faces eval --model mobilefacenet.onnx --detector retinaface.onnx --pairs pairs.csv --images lfw
  shoal faces eval --model mobilefacenet.onnx --detector retinaface.onnx --images lfw --burst 10 --json)";

struct FacesFlags {
  ModelFlags model;
  std::string name, db, detector, pairs, images;
  std::vector<std::string> sources;
  double threshold = faces::FaceDatabase::kUsualThreshold, score = 0.6, agreement = 0.99;
  uint64_t exits = 2, lessons = 1000, burst = 1, seed = 1;
  bool json = false;
};

faces::CascadeOptions cascade_options(const FacesFlags& flags) {
  faces::CascadeOptions options{.lessons = flags.lessons};
  options.wanted.precision = flags.agreement;
  return options;
}

// What the networks of a command are.
struct Networks {
  std::unique_ptr<Device> device;
  std::optional<detect::Detector> detector;
  std::optional<faces::Embedder> embedder;
  uint64_t number = 0;  // of the embedding
};

Result<Networks> open_networks(const FacesFlags& flags) {
  Networks all;
  SHOAL_ASSIGN(all.device, make_device(flags.model));
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  if (!model.has_random_weights()) {
    SHOAL_ASSIGN(const auto file, MappedFile::open(flags.model.model));
    all.number = hash_of(file->bytes());
  }
  SHOAL_ASSIGN(faces::Embedder embedder,
               faces::Embedder::open(model, *all.device, {.exits = flags.exits}));
  all.embedder.emplace(std::move(embedder));
  if (flags.detector.empty()) return all;
  SHOAL_ASSIGN(const Model detector, open_model_with_warning(flags.detector));
  SHOAL_ASSIGN(detect::Detector opened, detect::Detector::open(detector, *all.device));
  all.detector.emplace(std::move(opened));
  return all;
}

Result<std::vector<faces::FoundFace>> faces_in(Networks& networks, const Tensor& image,
                                               double score) {
  detect::Detector* const detector = networks.detector ? &*networks.detector : nullptr;
  return faces::find_faces(detector, image, networks.embedder->side(), static_cast<float>(score));
}

// The surest face of a picture of one person.
Result<faces::FoundFace> one_face(Networks& networks, const std::string& file, double score) {
  SHOAL_ASSIGN(const Tensor image, read_image(file));
  SHOAL_ASSIGN(std::vector<faces::FoundFace> found, faces_in(networks, image, score));
  if (found.empty()) return Status(Code::kNotFound, file + ": there is no face");
  // LFW's pictures show others at the edge: the one nearest to the middle counts.
  const auto off = [&](const faces::FoundFace& face) {
    const detect::Box& box = face.detection.box;
    return std::hypot((box.left + box.right - static_cast<float>(image.shape()[1])) / 2,
                      (box.top + box.bottom - static_cast<float>(image.shape()[0])) / 2);
  };
  return *std::ranges::min_element(found, {}, off);
}

Result<faces::FaceDatabase> open_database(const FacesFlags& flags, uint64_t number) {
  SHOAL_ASSIGN(faces::FaceDatabase database, faces::load_database(flags.db));
  if (number != database.model()) {
    return invalid(flags.db + " has embeddings of another network");
  }
  return database;
}

Outcome enrol(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  faces::FaceDatabase database(networks.number);
  if (std::filesystem::exists(flags.db)) {
    SHOAL_OR_EXIT(database, Exit::kUsage, open_database(flags, networks.number));
  } else if (const Status set = database.set_threshold(flags.threshold); !set.ok()) {
    return fail(Exit::kUsage, set);
  }
  for (const std::string& file : flags.sources) {
    SHOAL_OR_EXIT(const faces::FoundFace face, Exit::kUsage, one_face(networks, file, flags.score));
    SHOAL_OR_EXIT(const faces::Embedding embedding, Exit::kDevice,
                  networks.embedder->embed(face.image));
    const Status status = database.enrol(flags.name, embedding);
    if (!status.ok()) return fail(Exit::kUsage, status);
  }
  const Status saved = faces::save(database, flags.db);
  if (!saved.ok()) return fail(Exit::kUsage, saved);
  std::fprintf(stderr, "%s: %zu faces of %s\n", flags.db.c_str(), flags.sources.size(),
               printable(flags.name).c_str());
  return {};
}

Outcome forget(const FacesFlags& flags) {
  SHOAL_OR_EXIT(faces::FaceDatabase database, Exit::kUsage, faces::load_database(flags.db));
  if (!database.forget(flags.name)) {
    return {Exit::kUsage, flags.db + " does not know " + printable(flags.name)};
  }
  const Status saved = faces::save(database, flags.db);
  return saved.ok() ? Outcome{} : fail(Exit::kUsage, saved);
}

Outcome list(const FacesFlags& flags) {
  SHOAL_OR_EXIT(const faces::FaceDatabase database, Exit::kUsage, faces::load_database(flags.db));
  if (flags.json) {
    Json people = Json::array();
    for (const faces::Person& one : database.people()) {
      people.push_back({{"name", one.name}, {"faces", one.faces}});
    }
    const Json json = {{"people", people}, {"threshold", database.threshold()}};
    std::printf("%s\n", json.dump().c_str());
    return {};
  }
  Table table({"name", "faces"});
  for (const faces::Person& one : database.people()) {
    table.add({printable(one.name), std::to_string(one.faces)});
  }
  table.print();
  return {};
}

Json to_json(const faces::CascadeFigures& figures, const faces::Cascade& cascade) {
  return {{"answers", figures.answers}, {"thresholds", cascade.thresholds()},
          {"lessons", figures.lessons}, {"checked", figures.checked},
          {"wrong", figures.wrong},     {"macs_share", 1 / figures.speedup()}};
}

void print_face(const FacesFlags& flags, const std::string& image, const faces::FoundFace& face,
                const faces::FaceAnswer& answer) {
  const detect::Box& box = face.detection.box;
  if (!flags.json) {
    const std::string name = answer.person ? printable(*answer.person) : "unknown";
    std::printf("%s: %s, distance %.3f, at %.0f,%.0f, %.0f x %.0f\n", image.c_str(), name.c_str(),
                answer.distance, double{box.left}, double{box.top}, double{box.width()},
                double{box.height()});
    return;
  }
  Json json = {{"image", image},      {"distance", answer.distance},
               {"exit", answer.exit}, {"x", box.left},
               {"y", box.top},        {"w", box.width()},
               {"h", box.height()},   {"score", face.detection.score}};
  json["person"] = answer.person ? Json(*answer.person) : Json(nullptr);
  std::printf("%s\n", json.dump().c_str());
}

Outcome who(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  SHOAL_OR_EXIT(const faces::FaceDatabase database, Exit::kUsage,
                open_database(flags, networks.number));
  faces::Recogniser recogniser(*networks.embedder, database, cascade_options(flags));
  const std::atomic<bool>* const cancel = cancel_on_signals();
  for (const std::string& name : flags.sources) {
    SHOAL_OR_EXIT(const auto source, Exit::kUsage, watch::open_source(name, {.cancel = cancel}));
    while (!*cancel) {
      auto frame = source->next();
      if (!frame.ok()) return fail(Exit::kUsage, frame.status());
      if (!frame->has_value()) break;
      SHOAL_OR_EXIT(const auto found, Exit::kDevice,
                    faces_in(networks, (*frame)->image, flags.score));
      for (const faces::FoundFace& face : found) {
        SHOAL_OR_EXIT(const faces::FaceAnswer answer, Exit::kDevice, recogniser.who(face.image));
        print_face(flags, (*frame)->name, face, answer);
      }
    }
  }
  const faces::Cascade& cascade = recogniser.cascade();
  if (flags.json) std::printf("%s\n", to_json(cascade.figures(), cascade).dump().c_str());
  return {};
}

// Pictures by name, each embedded once.
class Album {
 public:
  Album(Networks& networks, const FacesFlags& flags) : networks_(networks), flags_(flags) {}

  Result<const faces::Embedding*> embedding(const std::string& name) {
    const auto at = all_.find(name);
    if (at != all_.end()) return &at->second;
    SHOAL_ASSIGN(const faces::FoundFace face,
                 one_face(networks_, flags_.images + "/" + name, flags_.score));
    SHOAL_ASSIGN(faces::Embedding made, networks_.embedder->embed(face.image));
    return &(all_[name] = std::move(made));
  }

 private:
  Networks& networks_;
  const FacesFlags& flags_;
  std::map<std::string, faces::Embedding> all_;
};

// Lines "a,b,same", after a header.
Result<std::vector<faces::FacePair>> read_pairs(const FacesFlags& flags, Album& album) {
  std::ifstream file(flags.pairs);
  if (!file) return Status(Code::kNotFound, "there is no " + flags.pairs);
  std::vector<faces::FacePair> pairs;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string a, b, same;
    if (!std::getline(words, a, ',') || !std::getline(words, b, ',') || !(words >> same)) {
      return Status(Code::kCorrupt, flags.pairs + ": no pair: " + printable(line));
    }
    SHOAL_ASSIGN(const faces::Embedding* one, album.embedding(a));
    SHOAL_ASSIGN(const faces::Embedding* two, album.embedding(b));
    pairs.push_back({faces::distance(*one, *two), same == "1"});
  }
  return pairs;
}

// Pictures NAME_0001.jpg by name.
Result<std::map<std::string, std::vector<std::string>>> people_in(const std::string& folder) {
  SHOAL_ASSIGN(const auto files, list_folder(folder));
  std::map<std::string, std::vector<std::string>> people;
  for (const auto& file : files) {
    const std::string stem = file.stem().string();
    const size_t end = stem.rfind('_');
    if (is_image_file(file) && end != std::string::npos) {
      people[stem.substr(0, end)].push_back(file.string());
    }
  }
  return people;
}

// The same face as successive frames of a video would show it: moved, turned and scaled a little.
detect::FacePoints moved(detect::FacePoints points, const detect::Box& box, std::mt19937& rng) {
  std::normal_distribution<float> normal(0, 0.01F * box.width());
  for (detect::Point& p : points) p = {p.x + normal(rng), p.y + normal(rng)};
  return points;
}

struct Identified {
  size_t people = 0, faces = 0, right = 0, right_alone = 0;
};

// Everybody with two pictures or more is enrolled by the first; the others are shown, each in a
// burst of frames, in random order.
Result<Identified> identify(const FacesFlags& flags, Networks& networks,
                            faces::FaceDatabase& database, Json& cascade_json) {
  SHOAL_ASSIGN(const auto people, people_in(flags.images));
  struct Shown {
    std::string person, file;
  };
  std::vector<Shown> shown;
  Identified counts;
  for (const auto& [person, files] : people) {
    if (files.size() < 2) continue;
    SHOAL_ASSIGN(const faces::FoundFace face, one_face(networks, files[0], flags.score));
    SHOAL_ASSIGN(const faces::Embedding embedding, networks.embedder->embed(face.image));
    SHOAL_TRY(database.enrol(person, embedding));
    ++counts.people;
    for (size_t i = 1; i < files.size(); ++i) shown.push_back({person, files[i]});
  }
  std::mt19937 rng(static_cast<uint32_t>(flags.seed));
  std::ranges::shuffle(shown, rng);
  faces::Recogniser recogniser(*networks.embedder, database, cascade_options(flags));
  ProgressBar bar("pictures", shown.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    SHOAL_ASSIGN(const Tensor image, read_image(shown[i].file));
    SHOAL_ASSIGN(const faces::FoundFace face, one_face(networks, shown[i].file, flags.score));
    const detect::Box& box = face.detection.box;
    const detect::FacePoints points =
        face.detection.points ? *face.detection.points : faces::usual_points(box);
    for (uint64_t frame = 0; frame < flags.burst; ++frame) {
      const auto aligned =
          flags.burst == 1 ? face.image
                           : faces::align(image, moved(points, box, rng), networks.embedder->side())
                                 .value_or(face.image);
      SHOAL_ASSIGN(const faces::Embedding alone, networks.embedder->embed(aligned));
      const auto match = database.who(alone);
      SHOAL_ASSIGN(const faces::FaceAnswer answer, recogniser.who(aligned));
      ++counts.faces;
      counts.right += answer.person == shown[i].person ? 1 : 0;
      counts.right_alone += match && match->person == shown[i].person ? 1 : 0;
    }
    bar.at(i + 1, "");
  }
  cascade_json = to_json(recogniser.cascade().figures(), recogniser.cascade());
  return counts;
}

double percent(size_t part, size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Outcome evaluate(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  Json json;
  if (!flags.pairs.empty()) {
    Album album(networks, flags);
    SHOAL_OR_EXIT(const auto pairs, Exit::kUsage, read_pairs(flags, album));
    json["pairs"] = pairs.size();
    json["accuracy"] = 100 * faces::accuracy_at(pairs, flags.threshold);
    json["cross_validated"] = 100 * faces::cross_validated(pairs, 10);
    json["best_threshold"] = faces::best_threshold(pairs);
  }
  faces::FaceDatabase database(networks.number);
  if (const Status set = database.set_threshold(flags.threshold); !set.ok()) {
    return fail(Exit::kUsage, set);
  }
  Json cascade;
  SHOAL_OR_EXIT(const Identified counts, Exit::kUsage,
                identify(flags, networks, database, cascade));
  json["people"] = counts.people;
  json["faces"] = counts.faces;
  json["identified"] = percent(counts.right, counts.faces);
  json["identified_alone"] = percent(counts.right_alone, counts.faces);
  json["cascade"] = cascade;
  std::printf("%s\n", flags.json ? json.dump().c_str() : json.dump(2).c_str());
  return {};
}

void add_networks(FacesFlags& f, Command& command) {
  f.model.model.clear();
  command.add_option("--model", f.model.model, "The embedding of a face: ONNX file")->required();
  command.add_option("--detector", f.detector,
                     "Finds faces, best with their points; without: an image is an aligned face");
  command.add_option("--score", f.score, "The least score of a face")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--exits", f.exits, "Exits of the embedding, which answer early")
      ->check(in_range(0, 8))
      ->capture_default_str();
  f.model.add_computing_to(command);
}

}  // namespace

void add_faces(Command& app, Action& action) {
  Command* all = app.add_subcommand("faces", "Enrol people, forget them, and say who is in images");
  all->require_subcommand();
  const auto add = [&](const char* name, const char* what, const char* examples,
                       Outcome (*act)(const FacesFlags&)) {
    auto flags = std::make_shared<FacesFlags>();
    Command* command = all->add_subcommand(name, what);
    command->footer(examples);
    command->callback([flags, &action, act] { action = [flags, act] { return act(*flags); }; });
    return std::pair(command, flags);
  };
  const auto add_db = [](Command& command, FacesFlags& f) {
    command.add_option("--db", f.db, "The file with the people")->required();
  };
  const auto add_json = [](Command& command, FacesFlags& f) {
    command.add_flag("--json", f.json, "Print JSON");
  };
  const auto add_lessons = [](Command& command, FacesFlags& f) {
    command
        .add_option("--lessons", f.lessons, "Faces from which exits learn how far to be trusted")
        ->capture_default_str();
    command
        .add_option("--agreement", f.agreement,
                    "Of early answers with those of the whole network, that lessons must show")
        ->check(in_range(0.5, 0.9999))
        ->capture_default_str();
  };
  const auto add_threshold = [](Command& command, FacesFlags& f) {
    command
        .add_option("--threshold", f.threshold,
                    "The squared distance up to which a face is somebody's; of a new file")
        ->check(in_range(0.0, 4.0))
        ->capture_default_str();
  };
  {
    const auto [command, f] = add("enrol", "Add pictures of one person", kEnrolExamples, enrol);
    command->add_option("name", f->name, "Of the person")->required();
    command->add_option("images", f->sources, "Pictures with the person's face")->required();
    add_db(*command, *f);
    add_networks(*f, *command);
    add_threshold(*command, *f);
  }
  {
    const auto [command, f] = add("forget", "Delete a person", kForgetExamples, forget);
    command->add_option("name", f->name, "Of the person")->required();
    add_db(*command, *f);
  }
  {
    const auto [command, f] = add("who", "Say who is in images or a video", kWhoExamples, who);
    command->add_option("sources", f->sources, "Images, folders, videos, URLs")->required();
    add_db(*command, *f);
    add_networks(*f, *command);
    add_lessons(*command, *f);
    add_json(*command, *f);
  }
  {
    const auto [command, f] = add("list", "The people in a file", kListExamples, list);
    add_db(*command, *f);
    add_json(*command, *f);
  }
  {
    const auto [command, f] =
        add("eval", "Measure on pictures NAME_NUMBER.jpg", kEvalExamples, evaluate);
    command->add_option("--images", f->images, "The folder of pictures")->required();
    command->add_option("--pairs", f->pairs, "Lines a,b,same after a header, as of LFW");
    command->add_option("--burst", f->burst, "Frames of each picture, each moved a little")
        ->check(in_range(1, 1000))
        ->capture_default_str();
    command->add_option("--seed", f->seed, "Of the order of pictures")->capture_default_str();
    add_networks(*f, *command);
    add_threshold(*command, *f);
    add_lessons(*command, *f);
    add_json(*command, *f);
  }
}

}  // namespace shoal::cli
