// shoal run: inputs in, answers out.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "apps/flags/json.h"
#include "cli.h"
#include "cluster/cluster_device.h"
#include "exit_codes.h"
#include "model.h"
#include "preprocess_flags.h"
#include "shoal/base/atomic_file.h"
#include "shoal/data/image.h"
#include "shoal/data/input_files.h"
#include "shoal/data/npy.h"
#include "shoal/fit/scores.h"
#include "shoal/zoo/embedded.h"
#include "table.h"

namespace shoal::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(
Examples:
  shoal run                                            the built-in digits, on the built-in samples
  shoal run --input my_digit.png                       the built-in digits, on a picture of yours
  shoal run model.onnx --input x=x.npy --save out      arrays in, out/<output name>.npy out
  shoal run model.onnx --input cat.jpg --preset imagenet --top 5 --labels classes.txt
  shoal run model.onnx --input cat.jpg --cluster       split over the workers of your cluster
  shoal run model.onnx --input cat.jpg --resize 256 --crop 224 --mean 0.485,0.456,0.406 \
            --std 0.229,0.224,0.225 --save-preset mine   keep these settings as a preset)";

struct RunFlags {
  ModelFlags model;
  PreprocessFlags preprocess;
  std::vector<std::string> inputs;
  std::string labels;
  std::string save;
  int64_t top = 0;
  bool json = false;
  PlanFlags plan;
  std::string fallback;  // a model; empty: none
};

Result<Session::Tensors> read_inputs(const RunFlags& flags, const Session& session) {
  Session::Tensors tensors;
  SHOAL_ASSIGN(Preprocess how, flags.preprocess.resolve());
  size_t next = 0;  // the input a file without a name goes to
  for (const std::string& argument : flags.inputs) {
    const size_t equals = argument.find('=');
    const std::string file = equals == argument.npos ? argument : argument.substr(equals + 1);
    if (equals == argument.npos && next >= session.inputs().size()) {
      return invalid("more inputs than the model has: " + argument);
    }
    const std::string name =
        equals == argument.npos ? session.inputs()[next++].name : argument.substr(0, equals);
    const auto& infos = session.inputs();
    const auto info = std::ranges::find(infos, name, &InputInfo::name);
    if (info == infos.end()) return invalid("the model has no input " + name);
    SHOAL_ASSIGN(tensors[name], read_input_file(file, info->dtype, info->dims, how));
  }
  return tensors;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  std::ifstream file(path);
  if (!file) return Status(Code::kNotFound, "cannot read labels from " + path);
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  return labels;
}

std::string label_of(const std::vector<std::string>& labels, size_t index) {
  return index < labels.size() ? labels[index] : "class " + std::to_string(index);
}

Json elements_of(const Tensor& tensor) {
  Json values = Json::array();
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    for (T x : tensor.data<T>()) values.push_back(static_cast<Compute<T>>(x));
  });
  return values;
}

// Scores over classes: f32 [n, classes] or [classes].
bool is_scores(const Tensor& t) {
  return t.dtype() == DType::kF32 && t.shape().rank() >= 1 &&
         t.count() == t.shape()[t.shape().rank() - 1] && t.count() > 1;
}

// The answer of a model; of the fallback model if `degraded` says why.
struct Answer {
  Session::Tensors outputs;
  std::string degraded;
};

void print_json(const Answer& answer, const RunFlags& flags,
                const std::vector<std::string>& labels) {
  Json result = Json::object();
  if (!answer.degraded.empty()) result["degraded"] = answer.degraded;
  for (const auto& [name, tensor] : answer.outputs) {
    Json one = {{"type", name_of(tensor.dtype())},
                {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())}};
    if (flags.top > 0 && is_scores(tensor)) {
      for (const auto& r : fit::top_classes(tensor.data<float>(), static_cast<size_t>(flags.top))) {
        one["top"].push_back({{"index", r.index},
                              {"label", label_of(labels, r.index)},
                              {"score", r.score},
                              {"share", static_cast<float>(r.probability)}});
      }
    } else {
      one["data"] = elements_of(tensor);
    }
    result[name] = std::move(one);
  }
  std::printf("%s\n", result.dump().c_str());
}

std::string summary(const Tensor& tensor) {
  constexpr size_t kShown = 6;
  std::string text;
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    const std::span<const T> data = tensor.data<T>();
    for (size_t i = 0; i < std::min(kShown, data.size()); ++i) {
      char number[32];
      std::snprintf(number, sizeof(number), "%s%.5g", i > 0 ? " " : "",
                    static_cast<double>(static_cast<Compute<T>>(data[i])));
      text += number;
    }
    if (data.size() > kShown) text += " ...";
  });
  return text;
}

void print_tables(const Session::Tensors& outputs, const RunFlags& flags,
                  const std::vector<std::string>& labels) {
  Table all({"output", "type", "elements"});
  bool any = false;
  for (const auto& [name, tensor] : outputs) {
    if (flags.top > 0 && is_scores(tensor)) {
      Table top({"#", name, "share", "score"});
      size_t place = 0;
      for (const auto& r : fit::top_classes(tensor.data<float>(), static_cast<size_t>(flags.top))) {
        top.add({std::to_string(++place), label_of(labels, r.index),
                 fixed(100.0 * r.probability, 1) + " %", fixed(r.score, 4)});
      }
      top.print();
    } else {
      all.add({name, to_string(tensor.type()), summary(tensor)});
      any = true;
    }
  }
  if (any) all.print();
}

Status save_outputs(const Session::Tensors& outputs, const fs::path& folder) {
  if (Status made = make_folder(folder); !made.ok()) {
    return Status(Code::kInvalidArgument, "cannot make folder " + folder.string());
  }
  for (const auto& [name, tensor] : outputs) {
    // Names of outputs come from the model, and must not leave the folder.
    std::string file = name;
    std::ranges::replace_if(
        file, [](char c) { return c == '/' || c == '\0'; }, '_');
    if (file.size() > 200) file.resize(200);
    SHOAL_TRY(write_npy(folder / (file + ".npy"), tensor));
  }
  return {};
}

// No model, no input: the digits in the binary answer on the samples in the binary.
Outcome run_samples(Session& session, bool json) {
  Table table({"image", "digit", "share"});
  Json rows = Json::array();
  const InputInfo input = session.inputs()[0];
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    SHOAL_OR_EXIT(Tensor image, Exit::kModel, parse_image(sample.png));
    SHOAL_OR_EXIT(Tensor x, Exit::kModel, image_for_input(image, input.dims, {}));
    SHOAL_OR_EXIT(auto outputs, Exit::kDevice, session.run({{input.name, x}}));
    const auto best = fit::top_classes(outputs.begin()->second.data<float>(), 1)[0];
    table.add({std::string(sample.name), std::to_string(best.index),
               fixed(100.0 * best.probability, 1) + " %"});
    rows.push_back({{"image", sample.name},
                    {"digit", best.index},
                    {"share", static_cast<float>(best.probability)}});
  }
  if (json) {
    std::printf("%s\n", rows.dump().c_str());
  } else {
    table.print();
  }
  return {};
}

// By a smaller model, on this device alone.
Result<Answer> answer_anyway(const RunFlags& flags, const Status& why) {
  ModelFlags small = flags.model;
  small.model = flags.fallback;
  SHOAL_ASSIGN(const auto device, make_device(small));
  SHOAL_ASSIGN(Session session, open_session(small, *device));
  SHOAL_ASSIGN(const auto inputs, read_inputs(flags, session));
  SHOAL_TRY(session.accepts(inputs));
  SHOAL_ASSIGN(auto outputs, session.run(inputs));
  return Answer{std::move(outputs), flags.fallback + " answered: " + std::string(why.message())};
}

Outcome show(const Answer& answer, const RunFlags& flags, const std::vector<std::string>& labels) {
  if (!flags.save.empty()) {
    if (Status saved = save_outputs(answer.outputs, flags.save); !saved.ok())
      return fail(Exit::kResources, saved);
  }
  if (flags.json) {
    print_json(answer, flags, labels);
  } else if (flags.save.empty() || flags.top > 0) {
    print_tables(answer.outputs, flags, labels);
  }
  if (answer.degraded.empty()) return {};
  return {Exit::kDegraded, answer.degraded};
}

// Too few workers for the model, or none that can be reached: what a smaller one is for.
bool calls_for_fallback(const RunFlags& flags, const Status& status) {
  const Code code = status.code();
  const bool of_workers = code == Code::kUnavailable || code == Code::kDeadline ||
                          code == Code::kExhausted || code == Code::kNotFound;
  return !flags.fallback.empty() && of_workers;
}

Outcome run(const RunFlags& flags) {
  SHOAL_OR_EXIT(auto labels, Exit::kUsage, read_labels(flags.labels));
  const auto fall_back = [&](const Status& why, Exit otherwise) -> Outcome {
    if (!calls_for_fallback(flags, why)) return fail(otherwise, why);
    SHOAL_OR_EXIT(const Answer answer, Exit::kModel, answer_anyway(flags, why));
    return show(answer, flags, labels);
  };
  const bool on_cluster = flags.plan.is_on_cluster();
  auto device = on_cluster ? open_cluster_device(flags.plan) : make_device(flags.model);
  if (!device.ok()) {
    return fall_back(device.status(),
                     on_cluster ? exit_of(Doing::kConnect, device.status()) : Exit::kDevice);
  }
  auto opened = open_session(flags.model, **device);
  if (!opened.ok()) {
    const Status why = opened.status();
    // What is not found here is the model's file, which is no matter of workers.
    return why.code() == Code::kNotFound ? fail(Exit::kModel, why) : fall_back(why, Exit::kModel);
  }
  Session& session = *opened;
  if (flags.inputs.empty() && flags.model.model == kDefaultModel)
    return run_samples(session, flags.json);
  SHOAL_OR_EXIT(auto inputs, Exit::kUsage, read_inputs(flags, session));
  if (Status fits = session.accepts(inputs); !fits.ok()) return fail(Exit::kUsage, fits);
  auto ran = session.run(inputs);
  if (!ran.ok()) return fall_back(ran.status(), exit_of(Doing::kRun, ran.status()));
  return show({*std::move(ran), {}}, flags, labels);
}

}  // namespace

void add_run(Command& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  Command* command = app.add_subcommand("run", "Run a model on inputs");
  command->footer(kExamples);
  flags->model.add_to(*command, /*model_required=*/false);
  command->add_option("--input,-i", flags->inputs,
                      "FILE or NAME=FILE: .npy, .jpg or .png; repeatable");
  command->add_option("--save", flags->save, "Write every output to DIR/<name>.npy");
  command->add_option("--top", flags->top, "Show the N best classes of outputs that hold scores")
      ->check(in_range(1, 1 << 20));
  command->add_option("--labels", flags->labels, "Names of the classes, one a line");
  command->add_flag("--json", flags->json, "Print one JSON object");
  Option* cluster = flags->plan.add_cluster_to(*command);
  command
      ->add_option("--fallback", flags->fallback,
                   "The model that answers here, with exit code 10, if too few workers are left")
      ->needs(cluster);
  flags->preprocess.add_to(*command);
  command->callback([flags, &action] {
    flags->plan.local_device = flags->model.device;
    action = [flags] { return run(*flags); };
  });
}

}  // namespace shoal::cli
