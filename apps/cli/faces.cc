// shoal faces: enrols people, and finds them in an image or a video.
#include "apps/commands/video/faces.h"

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "exit_codes.h"
#include "facts.h"
#include "model.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/base/text/printable.h"
#include "shoal/video/faces/evaluation/face_networks.h"
#include "shoal/video/watch/frames/open_source.h"
#include "train/cancel_on_signals.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal faces enrol Ada --db family.faces --model mobilefacenet.onnx --detector retinaface.onnx ada1.jpg ada2.jpg
  shoal faces who --db family.faces --model mobilefacenet.onnx --detector retinaface.onnx party.jpg
  shoal faces forget Ada --db family.faces)";
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
  faces::FaceSettings settings;
  bool json = false;
};

// What the networks of a command are.
struct Networks {
  faces::FaceNetworks networks;
  uint64_t number = 0;  // of the embedding

  faces::FaceReader reader(const FacesFlags& flags) {
    return networks.reader(static_cast<float>(flags.settings.score));
  }
};

Result<Networks> open_networks(const FacesFlags& flags) {
  SHOAL_ASSIGN(auto device, make_device(flags.model));
  SHOAL_ASSIGN(const Model model, open_model_with_warning(flags.model.model));
  SHOAL_ASSIGN(const uint64_t number, faces::number_of(model, flags.model.model));
  std::optional<Model> detector;
  if (!flags.detector.empty()) {
    SHOAL_ASSIGN(detector, open_model_with_warning(flags.detector));
  }
  SHOAL_ASSIGN(auto networks,
               faces::FaceNetworks::open(std::move(device), model, detector ? &*detector : nullptr,
                                         flags.settings.exits));
  return Networks{std::move(networks), number};
}

Outcome enrol(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  SHOAL_TRY_OR_EXIT(Exit::kUsage,
                    faces::enrol_pictures(flags.db, networks.number, flags.settings.threshold,
                                          networks.reader(flags), flags.name, flags.sources));
  std::fprintf(stderr, "%s: %zu faces of %s\n", flags.db.c_str(), flags.sources.size(),
               printable(flags.name).c_str());
  return {};
}

Outcome forget(const FacesFlags& flags) {
  SHOAL_TRY_OR_EXIT(Exit::kUsage, faces::forget_person(flags.db, flags.name));
  return {};
}

Outcome list(const FacesFlags& flags) {
  SHOAL_OR_EXIT(const faces::FaceDatabase database, Exit::kUsage, faces::load_database(flags.db));
  flags.json ? print_json(to_json(database))
             : table_of(people_rows(database), {"name", "faces"}).print();
  return {};
}

Outcome who(const FacesFlags& flags) {
  SHOAL_OR_EXIT(Networks networks, Exit::kModel, open_networks(flags));
  SHOAL_OR_EXIT(const faces::FaceDatabase database, Exit::kUsage,
                faces::load_database(flags.db, networks.number));
  faces::Recogniser recogniser(networks.networks.embedder(), database, flags.settings.cascade());
  const faces::FaceReader reader = networks.reader(flags);
  const std::atomic<bool>* const cancel = cancel_on_signals();
  std::string image;
  const auto print = [&](const faces::FoundFace& face, const faces::FaceAnswer& answer) {
    flags.json ? print_json(to_json(image, face, answer))
               : print_text(text_of(image, face, answer));
  };
  for (const std::string& name : flags.sources) {
    SHOAL_OR_EXIT(const auto source, Exit::kUsage, watch::open_source(name, {.cancel = cancel}));
    while (!*cancel) {
      SHOAL_OR_EXIT(const auto frame, Exit::kUsage, source->next());
      if (!frame.has_value()) break;
      image = frame->name;
      SHOAL_TRY_OR_EXIT(Exit::kDevice, faces::recognise(reader, recogniser, frame->image, print));
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
    json = to_json(pairs, flags.settings.threshold);
  }
  SHOAL_OR_EXIT(faces::FaceDatabase database, Exit::kUsage,
                faces::new_database(networks.number, flags.settings.threshold));
  ProgressBar bar("pictures");
  const auto progress = [&](size_t done, size_t all) { bar.of(done, all); };
  SHOAL_OR_EXIT(const faces::Identification result, Exit::kUsage,
                faces::identify(reader, flags.images, database,
                                {flags.settings.cascade(), flags.settings.burst,
                                 flags.settings.seed, progress}));
  bar.end();
  json.update(to_json(result));
  print_text(json.dump(flags.json ? -1 : 2) + "\n");
  return {};
}

void add_networks(FacesFlags& f, Command& command) {
  f.model.model.clear();
  command.add_option("--model", f.model.model, "The embedding of a face: ONNX file")->required();
  command.add_option("--detector", f.detector,
                     "Finds faces, best with their points; without: an image is an aligned face");
  command.add(network_settings(f.settings));
  f.model.add_computing_to(command);
}

}  // namespace

void add_faces(Command& app, Action& action) {
  Command* all = app.add_subcommand("faces", "Enrol people, forget them, and say who is in images");
  all->footer(kExamples);
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
  {
    const auto [command, f] = add("enrol", "Add pictures of one person", kEnrolExamples, enrol);
    command.add_option("name", f.name, "Of the person")->required();
    command.add_option("images", f.sources, "Pictures with the person's face")->required();
    add_db(command, f);
    add_networks(f, command);
    command.add(database_settings(f.settings));
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
    command.add(exit_settings(f.settings));
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
    command.add(picture_settings(f.settings));
    add_networks(f, command);
    command.add(database_settings(f.settings));
    command.add(exit_settings(f.settings));
    add_json(command, f);
  }
}

}  // namespace shoal::cli
