// shoal faces: people that were enrolled, and who is in an image or a video.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facts.h"
#include "model.h"
#include "progress.h"
#include "shoal/base/printable.h"
#include "shoal/faces/database.h"
#include "shoal/faces/face_networks.h"
#include "shoal/faces/facts.h"
#include "shoal/watch/open_source.h"
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
  faces::FaceNetworks networks;
  uint64_t number = 0;  // of the embedding

  faces::FaceReader reader(const FacesFlags& flags) {
    return networks.reader(static_cast<float>(flags.score));
  }
};

Result<Networks> open_networks(const FacesFlags& flags) {
  SHOAL_ASSIGN(auto device, make_device(flags.model));
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  uint64_t number = 0;
  if (!model.has_random_weights()) {
    SHOAL_ASSIGN(number, faces::number_of(flags.model.model));
  }
  std::optional<Model> detector;
  if (!flags.detector.empty()) {
    SHOAL_ASSIGN(detector, open_model_with_warning(flags.detector));
  }
  SHOAL_ASSIGN(auto networks,
               faces::FaceNetworks::open(std::move(device), model, detector ? &*detector : nullptr,
                                         flags.exits));
  return Networks{std::move(networks), number};
}

Outcome enrol(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  faces::FaceDatabase database(networks.number);
  if (std::filesystem::exists(flags.db)) {
    SHOAL_OR_EXIT(database, Exit::kUsage, faces::load_database(flags.db, networks.number));
  } else if (const Status set = database.set_threshold(flags.threshold); !set.ok()) {
    return fail(Exit::kUsage, set);
  }
  const faces::FaceReader reader = networks.reader(flags);
  for (const std::string& file : flags.sources) {
    SHOAL_OR_EXIT(const faces::Embedding embedding, Exit::kUsage, reader.embedding_of(file));
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
    print_json(to_json(database));
  } else {
    table_of(people_rows(database), {"name", "faces"}).print();
  }
  return {};
}

Outcome who(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  SHOAL_OR_EXIT(const faces::FaceDatabase database, Exit::kUsage,
                faces::load_database(flags.db, networks.number));
  faces::Recogniser recogniser(networks.networks.embedder(), database, cascade_options(flags));
  const faces::FaceReader reader = networks.reader(flags);
  const std::atomic<bool>* const cancel = cancel_on_signals();
  for (const std::string& name : flags.sources) {
    SHOAL_OR_EXIT(const auto source, Exit::kUsage, watch::open_source(name, {.cancel = cancel}));
    while (!*cancel) {
      auto frame = source->next();
      if (!frame.ok()) return fail(Exit::kUsage, frame.status());
      if (!frame->has_value()) break;
      SHOAL_OR_EXIT(const auto found, Exit::kDevice, reader.faces((*frame)->image));
      for (const faces::FoundFace& face : found) {
        SHOAL_OR_EXIT(const faces::FaceAnswer answer, Exit::kDevice, recogniser.who(face.image));
        const std::string& image = (*frame)->name;
        if (flags.json) {
          print_json(to_json(image, face, answer));
        } else {
          std::fputs(text_of(image, face, answer).c_str(), stdout);
        }
      }
    }
  }
  const faces::Cascade& cascade = recogniser.cascade();
  if (flags.json) print_json(to_json(cascade.figures(), cascade.thresholds()));
  return {};
}

Outcome evaluate(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  const faces::FaceReader reader = networks.reader(flags);
  Json json = Json::object();
  if (!flags.pairs.empty()) {
    SHOAL_OR_EXIT(const auto names, Exit::kUsage, faces::read_pairs(flags.pairs));
    SHOAL_OR_EXIT(const auto pairs, Exit::kUsage,
                  faces::measure_pairs(reader, names, flags.images));
    json = to_json(pairs, flags.threshold);
  }
  faces::FaceDatabase database(networks.number);
  if (const Status set = database.set_threshold(flags.threshold); !set.ok()) {
    return fail(Exit::kUsage, set);
  }
  std::optional<ProgressBar> bar;
  const auto progress = [&](size_t done, size_t all) {
    if (!bar) bar.emplace("pictures", all);
    bar->at(done, "");
  };
  SHOAL_OR_EXIT(const faces::Identification result, Exit::kUsage,
                faces::identify(reader, flags.images, database,
                                {cascade_options(flags), flags.burst, flags.seed, progress}));
  json.update(to_json(result));
  std::printf("%s\n", flags.json ? json.dump().c_str() : json.dump(2).c_str());
  return {};
}

void add_networks(FacesFlags& f, Command& command) {
  f.model.model.clear();
  command.add_option("--model", f.model.model, "The embedding of a face: ONNX file")->required();
  command.add_option("--detector", f.detector,
                     "Finds faces, best with their points; without: an image is an aligned face");
  command.add_setting("--score", f.score, "The least score of a face", in_range(0.0, 1.0));
  command.add_setting("--exits", f.exits, "Exits of the embedding, which answer early",
                      in_range(0, 8));
  f.model.add_computing_to(command);
}

}  // namespace

void add_faces(Command& app, Action& action) {
  Command* all = app.add_subcommand("faces", "Enrol people, forget them, and say who is in images");
  all->require_subcommand();
  const auto add = [&](const char* name, const char* what, const char* examples,
                       Outcome (*act)(const FacesFlags&)) {
    return add_command(*all, action, name, what, examples, act);
  };
  const auto add_db = [](Command& command, FacesFlags& f) {
    command.add_option("--db", f.db, "The file with the people")->required();
  };
  const auto add_json = [](Command& command, FacesFlags& f) {
    command.add_flag("--json", f.json, "Print JSON");
  };
  const auto add_lessons = [](Command& command, FacesFlags& f) {
    command.add_setting("--lessons", f.lessons,
                        "Faces from which exits learn how far to be trusted");
    command.add_setting("--agreement", f.agreement,
                        "Of early answers with those of the whole network, that lessons must show",
                        in_range(0.5, 0.9999));
  };
  const auto add_threshold = [](Command& command, FacesFlags& f) {
    command.add_setting("--threshold", f.threshold,
                        "The squared distance up to which a face is somebody's; of a new file",
                        in_range(0.0, 4.0));
  };
  {
    const auto [command, f] = add("enrol", "Add pictures of one person", kEnrolExamples, enrol);
    command.add_option("name", f.name, "Of the person")->required();
    command.add_option("images", f.sources, "Pictures with the person's face")->required();
    add_db(command, f);
    add_networks(f, command);
    add_threshold(command, f);
  }
  {
    const auto [command, f] = add("forget", "Delete a person", kForgetExamples, forget);
    command.add_option("name", f.name, "Of the person")->required();
    add_db(command, f);
  }
  {
    const auto [command, f] = add("who", "Say who is in images or a video", kWhoExamples, who);
    command.add_option("sources", f.sources, "Images, folders, videos, URLs")->required();
    add_db(command, f);
    add_networks(f, command);
    add_lessons(command, f);
    add_json(command, f);
  }
  {
    const auto [command, f] = add("list", "The people in a file", kListExamples, list);
    add_db(command, f);
    add_json(command, f);
  }
  {
    const auto [command, f] =
        add("eval", "Measure on pictures NAME_NUMBER.jpg", kEvalExamples, evaluate);
    command.add_option("--images", f.images, "The folder of pictures")->required();
    command.add_option("--pairs", f.pairs, "Lines a,b,same after a header, as of LFW");
    command.add_setting("--burst", f.burst, "Frames of each picture, each moved a little",
                        in_range(1, 1000));
    command.add_setting("--seed", f.seed, "Of the order of pictures");
    add_networks(f, command);
    add_threshold(command, f);
    add_lessons(command, f);
    add_json(command, f);
  }
}

}  // namespace shoal::cli
